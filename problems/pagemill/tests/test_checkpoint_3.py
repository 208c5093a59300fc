"""Contents, pagination, sitemap, tidy output, drafts, check."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from sitekit import SIMPLE, copy_site, texts, write_site

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
PAGINATED = "{{ paginator.number }}/{{ paginator.total }}:{{ paginator.posts | length }}"


@pytest.fixture(scope="module")
def almanac(pagemill, tmp_path_factory):
    folder = tmp_path_factory.mktemp("almanac")
    site = copy_site("almanac", folder / "site")
    write_site(
        site, {"content/salt&pepper.md": "---\ntitle: Salt\ndate: 2020-02-29\nsitemap: true\n---\nSalt.\n"}
    )
    return pagemill.build(site, folder / "output")


def locations(made):
    root = ElementTree.fromstring(made.text("sitemap.xml"))
    assert root.tag == f"{SITEMAP}urlset"
    return [(url.findtext(f"{SITEMAP}loc"), url.findtext(f"{SITEMAP}lastmod")) for url in root]


def test_standard_output(almanac):
    assert almanac.ok().lines == [
        "wrote archive-2.html",
        "wrote archive.html",
        "wrote index.html",
        "wrote news/list-2.html",
        "wrote news/list-3.html",
        "wrote news/list.html",
        "wrote news/n1.html",
        "wrote news/n2.html",
        "wrote news/n3.html",
        "wrote news/n4.html",
        "wrote news/n5.html",
        "wrote salt&pepper.html",
        "wrote sitemap.xml",
        "wrote tags/frost.html",
        "built=13 drafts=0",
    ]


def test_headings_have_ids(almanac):
    main = almanac.html("index.html").main
    assert [(h.name, h["id"]) for h in main.find_all(["h1", "h2", "h3", "h4"])] == [
        ("h1", "almanac"),
        ("h2", "pots-pans"),
        ("h3", "copper"),
        ("h4", "too-deep"),
        ("h2", "copper_1"),
    ]


def test_contents_have_levels_2_and_3(almanac):
    rows = almanac.html("index.html").find(id="toc").find_all("li")
    assert [(row["data-level"], row.a["href"]) for row in rows] == [
        ("2", "#pots-pans"),
        ("3", "#copper"),
        ("2", "#copper_1"),
    ]


@pytest.mark.functionality
def test_names_in_contents_are_plain_text(almanac):
    rows = almanac.html("index.html").find(id="toc").find_all("li")
    assert texts(rows) == ["Pots & Pans", "Copper", "Copper"]


@pytest.mark.parametrize(
    ("url", "number", "titles", "prev_url", "next_url"),
    [
        ("news/list.html", "1", ["News 5", "News 4"], None, "../news/list-2.html"),
        ("news/list-2.html", "2", ["News 3", "News 2"], "../news/list.html", "../news/list-3.html"),
        ("news/list-3.html", "3", ["News 1", "Salt"], "../news/list-2.html", None),
    ],
    ids=["first", "second", "third"],
)
def test_pieces(almanac, url, number, titles, prev_url, next_url):
    page = almanac.html(url)
    piece = page.find(id="piece")
    assert (piece["data-number"], piece["data-total"]) == (number, "3")
    assert texts(piece.find_all("li")) == titles
    assert [a and a["href"] for a in (page.find(id="prev"), page.find(id="next"))] == [prev_url, next_url]
    assert texts(page.main.find_all("h2")) == ["Latest"]


def test_url_of_a_piece(almanac):
    page = almanac.html("news/list-2.html")
    assert page.body["data-url"] == "news/list-2.html"
    assert page.body["data-root"] == "../"
    assert page.link["href"] == "https://example.org/news/list-2.html"


def test_pages_have_each_page_once(almanac):
    expected = ["archive", "index", "news/list", *(f"news/n{i}" for i in range(1, 6)), "salt&pepper"]
    listed = almanac.html("news/list-3.html").find(id="pages").find_all("li")
    assert texts(listed) == [f"{name}.html" for name in expected]


@pytest.mark.parametrize("url", ["index.html", "tags/frost.html"], ids=["page", "tag"])
def test_no_paginator_without_the_key(almanac, url):
    assert almanac.html(url).find(id="single") is not None


@pytest.mark.functionality
def test_contents_of_a_tag_page_are_empty(almanac):
    assert almanac.html("tags/frost.html").find(id="toc").get_text() == "0"


def test_locations_in_the_sitemap(almanac):
    names = ["index", "news/list-2", "news/list-3", "news/list", *(f"news/n{i}" for i in range(1, 6))]
    names += ["salt&pepper", "tags/frost"]
    assert [loc for loc, _ in locations(almanac)] == [f"https://example.org/{name}.html" for name in names]


def test_dates_in_the_sitemap(almanac):
    dates = dict(locations(almanac))
    assert dates["https://example.org/salt&pepper.html"] == "2020-02-29"
    assert dates["https://example.org/news/n3.html"] == "2024-03-10"
    assert dates["https://example.org/index.html"] is None
    assert dates["https://example.org/tags/frost.html"] is None


@pytest.mark.functionality
def test_one_empty_piece_and_no_sitemap(build):
    made = build({"content/a.md": "---\npaginate: 5\n---\n", "templates/page.html": PAGINATED})
    assert made.files() == ["a.html"]
    assert made.text("a.html").strip() == "1/1:0"


@pytest.mark.functionality
def test_pieces_that_come_out_even(build):
    posts = {f"content/p{i}.md": f"---\ndate: 2024-01-0{i}\ntemplate: post.html\n---\n" for i in range(1, 5)}
    made = build(
        {
            **posts,
            "content/a.md": "---\npaginate: 2\n---\n",
            "templates/page.html": PAGINATED,
            "templates/post.html": "post",
        }
    )
    assert made.files() == ["a-2.html", "a.html", "p1.html", "p2.html", "p3.html", "p4.html"]
    assert [made.text(name).strip() for name in ("a.html", "a-2.html")] == ["1/2:2", "2/2:2"]


def test_files_of_the_last_build_are_removed(pagemill, tmp_path, output):
    site = write_site(
        tmp_path / "site",
        {
            "content/a.md": "a\n",
            "content/old/deep/b.md": "b\n",
            "content/kept/c.md": "c\n",
            "static/x.txt": "x",
            "templates/page.html": SIMPLE,
        },
    )
    pagemill.build(site, output).ok()
    (output / "kept" / "mine.txt").write_text("mine", encoding="utf-8")
    for name in ("content/old/deep/b.md", "content/kept/c.md", "static/x.txt"):
        (site / name).unlink()
    made = pagemill.build(site, output)
    assert made.files() == ["a.html", "kept/mine.txt"]
    assert not (output / "old").exists()
    assert made.lines == [
        "wrote a.html",
        "removed kept/c.html",
        "removed old/deep/b.html",
        "removed x.txt",
        "built=1 drafts=0",
    ]


@pytest.mark.functionality
def test_record_that_cannot_be_read(build, output):
    output.mkdir()
    (output / ".pagemill.json").write_bytes(b"\xff{ not json")
    (output / "mine.html").write_text("mine", encoding="utf-8")
    made = build({"content/a.md": "a\n", "templates/page.html": SIMPLE})
    assert made.files() == ["a.html", "mine.html"]
    assert made.lines == ["wrote a.html", "built=1 drafts=0"]


@pytest.mark.error
def test_failed_build_removes_nothing(pagemill, tmp_path, output):
    site = write_site(
        tmp_path / "site", {"content/a.md": "a\n", "content/b.md": "b\n", "templates/page.html": SIMPLE}
    )
    before = pagemill.build(site, output).files()
    (site / "content" / "b.md").unlink()
    (site / "content" / "a.md").write_text("[b](b.md)\n", encoding="utf-8")
    pagemill.build(site, output).failed("error: content/a.md: broken link: b.md")
    assert before == ["a.html", "b.html"] == sorted(path.name for path in output.glob("*.html"))


def test_build_with_drafts(build):
    made = build(
        {
            "content/a.md": "See [b](b.md).\n",
            "content/b.md": "---\ntitle: B\ndraft: true\n---\nSoon.\n",
            "templates/page.html": SIMPLE,
        },
        "--drafts",
    )
    assert made.lines == ["wrote a.html", "wrote b.html", "built=2 drafts=0"]
    assert made.html("b.html").title.string == "B"


def test_check_finds_nothing(pagemill, tmp_path):
    site = copy_site("almanac", tmp_path / "site")
    done = pagemill.run("check", site)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_check_reports_every_page_with_a_problem(pagemill, tmp_path):
    site = write_site(
        tmp_path / "site",
        {
            "content/good.md": "See [it](sub/open.md) and [that](date.md).\n",
            "content/link.md": "See [it](lost.md).\n",
            "content/link2.md": "See [it](draft.md).\n",
            "content/date.md": "---\ndate: tomorrow\n---\n",
            "content/look.md": "---\ntemplate: lost.html\n---\n",
            "content/draft.md": "---\ndraft: true\ntemplate: lost.html\n---\n",
            "content/sub/open.md": "---\ntitle: x\n",
            "templates/page.html": SIMPLE,
        },
    )
    done = pagemill.run("check", site)
    assert done.stdout.splitlines() == [
        "content/date.md:2: bad date: tomorrow",
        "content/link.md: broken link: lost.md",
        "content/link2.md: broken link: draft.md",
        "content/look.md: template not found: lost.html",
        "content/sub/open.md:1: front matter is not closed",
    ]
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.error
def test_check_without_content(pagemill, tmp_path):
    site = write_site(tmp_path / "site", {"site.toml": "broken\n"})
    (site / "content").rmdir()
    done = pagemill.run("check", site)
    assert (done.returncode, done.stdout, done.stderr) == (1, "content: not a directory\n", "")


@pytest.mark.error
@pytest.mark.parametrize("value", ["0", "true", "many", '"2"'], ids=["zero", "boolean", "word", "quoted"])
def test_bad_paginate(build, output, value):
    made = build({"content/a.md": f"---\npaginate: {value}\n---\n", "templates/page.html": SIMPLE})
    made.failed(f"error: content/a.md: bad paginate: {value}")
    assert not output.exists()


@pytest.mark.error
@pytest.mark.parametrize(
    ("name", "place"),
    [("content/a-2.md", "a-2.html"), ("static/sitemap.xml", "sitemap.xml")],
    ids=["piece", "sitemap"],
)
def test_more_than_one_source(build, output, name, place):
    made = build(
        {
            "site.toml": 'base_url = "https://example.org"\n',
            "content/a.md": "---\npaginate: 1\ndate: 2024-01-01\n---\n",
            "content/b.md": "---\ndate: 2024-01-02\n---\n",
            name: "text\n",
            "templates/page.html": SIMPLE,
        }
    )
    made.failed(f"error: {place}: more than one source")
    assert not output.exists()


@pytest.mark.error
@pytest.mark.parametrize("arguments", [["check"], ["check", "a", "b"]], ids=["too-few", "too-many"])
def test_wrong_arguments(pagemill, arguments):
    done = pagemill.run(*arguments)
    assert done.returncode == 2
    assert "usage" in done.stderr.lower()

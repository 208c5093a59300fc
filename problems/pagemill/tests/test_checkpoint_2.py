"""Settings, static files, dates, tags, links."""

from __future__ import annotations

import pytest
from sitekit import SIMPLE, copy_site, texts

BLOB = bytes(range(256))


@pytest.fixture(scope="module")
def journal(pagemill, tmp_path_factory):
    folder = tmp_path_factory.mktemp("journal")
    site = copy_site("journal", folder / "site")
    (site / "static" / "blob.bin").write_bytes(BLOB)
    return pagemill.build(site, folder / "output")


def items(journal, page, name):
    return texts(journal.html(page).find(id=name).find_all("li"))


def test_title_of_the_site(journal):
    assert journal.html("notes/mill.html").find(id="site").get_text() == "Hill & Dale"


def test_permalink_without_double_slash(journal):
    link = journal.html("notes/mill.html").find("link", rel="canonical")
    assert link["href"] == "https://example.org/walks/notes/mill.html"


def test_permalinks_of_other_pages(journal):
    urls = ["index", "notes/brook", "notes/mill", "notes/ridge"]
    assert items(journal, "index.html", "pages") == [f"https://example.org/walks/{url}.html" for url in urls]


def test_static_files_are_copied(journal):
    journal.ok()
    assert (journal.output / "css" / "main.css").read_bytes() == b"main { color: green }\n"
    assert (journal.output / "blob.bin").read_bytes() == BLOB


def test_posts_are_the_dated_pages_newest_first(journal):
    assert items(journal, "index.html", "posts") == ["Old mill", "North ridge", "Brook"]


@pytest.mark.parametrize(
    ("page", "date"), [("notes/ridge.html", "2024-05-17"), ("index.html", "")], ids=["some", "none"]
)
def test_date_of_a_page(journal, page, date):
    assert journal.html(page).find("meta", attrs={"name": "date"})["content"] == date


def test_tag_pages_are_written(journal):
    written = [name for name in journal.files() if name.startswith("tags/")]
    assert written == ["tags/c-rust.html", "tags/long-walks.html"]


def test_tag_page(journal):
    page = journal.html("tags/long-walks.html")
    assert page.title.string == page.h1.get_text() == "Long Walks"
    assert page.h1["data-slug"] == "long-walks"
    assert page.h1["data-url"] == "tags/long-walks.html"
    assert page.link["href"] == "https://example.org/walks/tags/long-walks.html"
    assert page.main.get_text().strip() == ""


def test_pages_of_a_tag(journal):
    links = journal.html("tags/long-walks.html").find(id="tagged").find_all("a")
    assert [(link["href"], link.get_text()) for link in links] == [
        ("../index.html", "Home"),
        ("../notes/ridge.html", "North ridge"),
    ]


def test_all_tags_in_every_page(journal):
    links = journal.html("notes/brook.html").find(id="all-tags").find_all("a")
    assert [(link["href"], link.get_text()) for link in links] == [
        ("../tags/c-rust.html", "C++ & Rust"),
        ("../tags/long-walks.html", "Long Walks"),
    ]


@pytest.mark.parametrize(
    ("page", "tags"),
    [
        ("notes/ridge.html", ["long walks", "C++ & Rust", "LONG WALKS"]),
        ("notes/mill.html", []),
        ("notes/brook.html", []),
    ],
    ids=["some", "empty-list", "no-key"],
)
def test_own_tags_as_written(journal, page, tags):
    assert items(journal, page, "own-tags") == tags


def test_links_between_pages(journal):
    links = journal.html("notes/ridge.html").main.find_all("a")
    assert [link["href"] for link in links] == ["../index.html", "./mill.html"]


@pytest.mark.parametrize(
    ("text", "href"),
    [("north ridge", "notes/ridge.html#the-top"), ("old mill", "notes/mill.html")],
    ids=["with-part", "by-reference"],
)
def test_links_from_the_top(journal, text, href):
    assert journal.html("index.html").main.find("a", string=text)["href"] == href


@pytest.mark.functionality
@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("maps", "https://maps.example.net/all.md"),
        ("top", "/top.md"),
        ("below", "#below"),
        ("sheet", "sheet.pdf"),
    ],
    ids=["address", "absolute", "part", "file"],
)
def test_other_links_stay(journal, text, href):
    assert journal.html("index.html").main.find("a", string=text)["href"] == href


@pytest.mark.functionality
def test_code_is_no_link(journal):
    codes = texts(journal.html("index.html").main.find_all("code"))
    assert codes == ["[ridge](notes/ridge.md)", "[ridge](notes/ridge.md)"]


def test_posts_of_the_same_day_are_sorted_by_url(build):
    dates = {"d": "2024-01-01", "b": "2024-03-03", "a": "2024-03-03", "e": "2024-06-01", "c": "2024-03-03"}
    files = {f"content/{name}.md": f"---\ndate: {date}\n---\n" for name, date in dates.items()}
    made = build({**files, "templates/page.html": "{% for p in posts %}<i>{{ p.title }}</i>{% endfor %}"})
    assert texts(made.html("a.html").find_all("i")) == ["e", "a", "b", "c", "d"]


def test_standard_output_and_defaults_without_settings(build):
    template = "<title>{{ site.title }}</title><i>{{ site.base_url }}</i><b>{{ page.permalink }}</b>"
    made = build(
        {
            "content/z.md": "---\ntags: [Blue Sky]\n---\n",
            "content/b.md": "Text.\n",
            "content/c.md": "---\ndraft: true\n---\n",
            "static/img/x.txt": "x",
            "static/a.txt": "a",
            "templates/page.html": template,
            "templates/tag.html": "tag",
        }
    )
    assert made.ok().lines == [
        "wrote b.html",
        "wrote tags/blue-sky.html",
        "wrote z.html",
        "copied a.txt",
        "copied img/x.txt",
        "built=3 drafts=1",
    ]
    page = made.html("b.html")
    assert page.title.string == "Untitled"
    assert page.i.get_text() == ""
    assert page.b.get_text() == "/b.html"


@pytest.mark.parametrize(
    "settings", [{}, {"site.toml": 'base_url = "https://file.example"\n'}], ids=["alone", "wins"]
)
def test_base_url_from_the_environment(build, environ, settings):
    environ(PAGEMILL_BASE_URL="https://env.example/sub/")
    made = build(
        {
            **settings,
            "content/a.md": "x\n",
            "templates/page.html": "<i>{{ site.base_url }}</i><b>{{ page.permalink }}</b>",
        }
    )
    page = made.html("a.html")
    assert page.i.get_text() == "https://env.example/sub"
    assert page.b.get_text() == "https://env.example/sub/a.html"


@pytest.mark.functionality
def test_setting_named_like_a_method(build):
    made = build(
        {
            "site.toml": 'items = ["map", "boots"]\n',
            "content/a.md": "x\n",
            "templates/page.html": "{% for i in site.items %}<i>{{ i }}</i>{% endfor %}",
        }
    )
    assert texts(made.html("a.html").find_all("i")) == ["map", "boots"]


@pytest.mark.functionality
def test_an_empty_variable_counts_as_not_set(build, environ):
    environ(PAGEMILL_BASE_URL="")
    made = build(
        {
            "site.toml": 'base_url = "https://file.example"\n',
            "content/a.md": "x\n",
            "templates/page.html": "<b>{{ page.permalink }}</b>",
        }
    )
    assert made.html("a.html").b.get_text() == "https://file.example/a.html"


@pytest.mark.error
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("---\na: 1\ndate: 2023-02-29\n---\n", ":3: bad date: 2023-02-29", id="no-such-day"),
        pytest.param("---\ndate: 5 May 2024\n---\n", ":2: bad date: 5 May 2024", id="other-form"),
        pytest.param("---\ntags: red\n---\n", ": tags must be a list", id="tags-no-list"),
        pytest.param("---\ntags: [red, ++]\n---\n", ": bad tag: ++", id="empty-slug"),
        pytest.param("See [it](lost.md#x).\n", ": broken link: lost.md#x", id="broken-link"),
        pytest.param("See [it](sub/draft.md).\n", ": broken link: sub/draft.md", id="link-to-draft"),
    ],
)
def test_bad_page(build, output, text, problem):
    made = build(
        {
            "content/a.md": "Good.\n",
            "content/bad.md": text,
            "content/sub/draft.md": "---\ndraft: true\n---\n",
            "templates/page.html": SIMPLE,
            "templates/tag.html": "tag",
        }
    )
    made.failed(f"error: content/bad.md{problem}")
    assert not output.exists()


@pytest.mark.error
def test_tag_template_is_missing(build):
    made = build({"content/a.md": "---\ntags: [x]\n---\n", "templates/page.html": SIMPLE})
    made.failed("error: templates/tag.html: template not found")


@pytest.mark.error
def test_settings_are_not_toml(build, output):
    made = build({"site.toml": "title = \n", "content/a.md": "x\n", "templates/page.html": SIMPLE})
    made.failed("error: site.toml: ", whole=False)
    assert not output.exists()


@pytest.mark.error
@pytest.mark.parametrize(
    ("name", "place"),
    [("static/sub/a.html", "sub/a.html"), ("content/tags/x.md", "tags/x.html")],
    ids=["file", "tag"],
)
def test_more_than_one_source(build, output, name, place):
    made = build(
        {
            "content/sub/a.md": "---\ntags: [x]\n---\n",
            name: "text\n",
            "templates/page.html": SIMPLE,
            "templates/tag.html": "tag",
        }
    )
    made.failed(f"error: {place}: more than one source")
    assert not output.exists()

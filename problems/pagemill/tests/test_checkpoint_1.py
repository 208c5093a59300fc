"""Pages, front matter, templates, errors."""

from __future__ import annotations

import pytest
from sitekit import SIMPLE, copy_site, texts, write_site


@pytest.fixture(scope="module")
def garden(pagemill, tmp_path_factory):
    folder = tmp_path_factory.mktemp("garden")
    return pagemill.build(copy_site("garden", folder / "site"), folder / "made" / "here")


def test_pages_are_written_at_their_places(garden):
    assert garden.files() == ["about.html", "guide/more/tips.html", "guide/setup.html", "index.html"]


def test_standard_output(garden):
    assert garden.ok().lines == [
        "wrote about.html",
        "wrote guide/more/tips.html",
        "wrote guide/setup.html",
        "wrote index.html",
        "built=4 drafts=1",
    ]
    assert garden.stderr == ""


def test_markdown_becomes_html(garden):
    main = garden.html("index.html").main
    assert texts(main.find_all("h1")) == ["Welcome"]
    assert texts(main.find_all("em")) == ["important"]
    assert texts(main.find_all("li")) == ["rose", "fern"]
    assert main.a["href"] == "guide/setup.html"
    assert texts(main.find_all("code")) == ["<br>"]


def test_tables_and_fenced_code(garden):
    main = garden.html("guide/setup.html").main
    assert texts(main.table.find_all("th")) == ["tool", "price"]
    assert texts(main.table.find_all("td")) == ["spade", "12"]
    assert main.pre.code.get_text().strip() == "dig --deep <hole>"


def test_title_is_escaped(garden):
    assert garden.html("index.html").find(id="title").get_text() == "Pots & <Plants>"
    assert "<Plants>" not in garden.text("index.html")


def test_page_without_front_matter(garden):
    page = garden.html("about.html")
    assert page.find(id="title").get_text() == "about"
    assert page.main.strong.get_text() == "text"
    assert page.main.hr is not None
    assert "title: not front matter" in page.main.get_text()


def test_front_matter_is_not_in_the_text(garden):
    assert garden.html("guide/more/tips.html").main.get_text().strip() == "Mulch."


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("weight", "21"),
        ("version", "007"),
        ("topics", "install|first steps"),
        ("empty", "0"),
        ("motto", "grow: slowly"),
        ("indoor", "yes"),
        ("outdoor", "yes"),
        ("blank", "empty"),
    ],
    ids=["integer", "quoted", "list", "empty-list", "colon", "true", "false", "nothing"],
)
def test_values_of_front_matter(garden, key, shown):
    assert garden.html("guide/setup.html").find(id=key).get_text() == shown


@pytest.mark.parametrize(
    ("url", "root"),
    [("index.html", ""), ("guide/setup.html", "../"), ("guide/more/tips.html", "../../")],
    ids=["top", "one-down", "two-down"],
)
def test_url_source_and_root(garden, url, root):
    main = garden.html(url).main
    assert main["data-url"] == url
    assert main["data-source"] == url.replace(".html", ".md")
    assert main["data-root"] == root


def test_pages_are_sorted_by_url_without_drafts(garden):
    links = garden.html("guide/setup.html").nav.find_all("a")
    assert [link["href"] for link in links] == [
        "../about.html",
        "../guide/more/tips.html",
        "../guide/setup.html",
        "../index.html",
    ]
    assert texts(links) == ["about", "Tips", "Setting up", "Pots & <Plants>"]


@pytest.mark.functionality
def test_urls_are_sorted_by_code_point(build):
    names = ["a.md", "a/b.md", "a-b.md", "B.md"]
    template = "{% for p in pages %}<i>{{ p.url }}</i>{% endfor %}"
    made = build({"templates/page.html": template, **{f"content/{name}": "text\n" for name in names}})
    urls = ["B.html", "a-b.html", "a.html", "a/b.html"]
    assert texts(made.html("a.html").find_all("i")) == urls
    assert made.lines[:-1] == [f"wrote {url}" for url in urls]


@pytest.mark.functionality
def test_key_named_like_a_method(build):
    template = "{% for i in page.items %}<i>{{ i }}</i>{% endfor %}<b>{{ page.keys + 1 }}</b>"
    page = "---\nitems: [pot, soil]\nkeys: 3\n---\n"
    made = build({"content/shop.md": page, "templates/page.html": template})
    assert texts(made.html("shop.html").find_all("i")) == ["pot", "soil"]
    assert made.html("shop.html").b.get_text() == "4"


@pytest.mark.functionality
def test_lines_may_end_in_cr_lf(build):
    made = build(
        {
            "content/a.md": b"---\r\ntitle: Windy\r\n---\r\n# One\r\n\r\nTwo.\r\n",
            "templates/page.html": SIMPLE,
        }
    )
    page = made.html("a.html")
    assert page.title.string == "Windy"
    assert page.h1.get_text() == "One"
    assert page.p.get_text() == "Two."


@pytest.mark.functionality
def test_computed_values_win(build):
    made = build(
        {
            "content/a.md": "---\nurl: elsewhere\nsource: nowhere\n---\n",
            "templates/page.html": "<i>{{ page.url }}</i><i>{{ page.source }}</i>",
        }
    )
    assert texts(made.html("a.html").find_all("i")) == ["a.html", "a.md"]


@pytest.mark.functionality
def test_a_quoted_true_is_no_draft(build):
    made = build({"content/a.md": '---\ndraft: "true"\n---\nHere.\n', "templates/page.html": SIMPLE})
    assert made.files() == ["a.html"]
    assert made.lines[-1] == "built=1 drafts=0"


@pytest.mark.functionality
def test_other_files_in_the_output_folder_stay(build, output):
    output.mkdir()
    (output / "mine.txt").write_text("keep", encoding="utf-8")
    (output / "a.html").write_text("old", encoding="utf-8")
    made = build({"content/a.md": "new\n", "templates/page.html": SIMPLE})
    assert made.files() == ["a.html", "mine.txt"]
    assert made.text("mine.txt") == "keep"
    assert made.html("a.html").main.get_text().strip() == "new"


@pytest.mark.encoding
def test_files_are_utf_8_in_any_locale(build, environ):
    environ(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    made = build({"content/a.md": "---\ntitle: Größe\n---\n漢字 → ok\n", "templates/page.html": "é" + SIMPLE})
    page = made.html("a.html")
    assert page.title.string == "Größe"
    assert page.main.get_text().strip() == "漢字 → ok"
    assert made.text("a.html").startswith("é")


@pytest.mark.error
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("---\ntitle: x\n\nText.\n", "1: front matter is not closed", id="not-closed"),
        pytest.param("---\ntitle: x\nnonsense\n---\n", "3: bad front matter line", id="no-colon"),
        pytest.param("---\n\nBad Key: x\n---\n", "3: bad front matter line", id="bad-key"),
        pytest.param("---\na: 1\nb: 2\na: 3\n---\n", "4: duplicate key: a", id="duplicate"),
    ],
)
def test_bad_front_matter(build, output, text, problem):
    made = build({"content/deep/bad.md": text, "content/good.md": "Good.\n", "templates/page.html": SIMPLE})
    made.failed(f"error: content/deep/bad.md:{problem}")
    assert not output.exists()


@pytest.mark.error
def test_template_not_found(build, output):
    made = build(
        {
            "content/a.md": "Good.\n",
            "content/b.md": "---\ntemplate: lost.html\n---\n",
            "templates/page.html": SIMPLE,
        }
    )
    made.failed("error: content/b.md: template not found: lost.html")
    assert not output.exists()


@pytest.mark.error
def test_template_with_a_syntax_error(build):
    made = build({"content/a.md": "x\n", "templates/page.html": "<p>\n</p>\n{% if %}\n"})
    made.failed("error: templates/page.html:3: ", whole=False)


@pytest.mark.error
def test_undefined_variable_leaves_the_output_as_it_was(build, output):
    output.mkdir()
    (output / "a.html").write_text("old", encoding="utf-8")
    made = build(
        {
            "content/a.md": "---\nmood: fine\n---\n",
            "content/b.md": "No mood.\n",
            "templates/page.html": "{{ page.mood }}",
        }
    )
    made.failed("error: content/b.md: ", whole=False)
    assert [path.name for path in output.iterdir()] == ["a.html"]
    assert (output / "a.html").read_text(encoding="utf-8") == "old"


@pytest.mark.error
def test_source_is_missing(pagemill, tmp_path, output):
    made = pagemill.build(tmp_path / "nowhere", output)
    made.failed(f"error: {tmp_path / 'nowhere'}: not a directory")
    assert not output.exists()


@pytest.mark.error
@pytest.mark.parametrize("name", ["content", "templates"])
def test_folder_is_missing(pagemill, tmp_path, output, name):
    site = write_site(tmp_path / "site", {})
    (site / name).rmdir()
    pagemill.build(site, output).failed(f"error: {name}: not a directory")


@pytest.mark.error
def test_output_is_a_file(build, output):
    output.write_text("a file", encoding="utf-8")
    made = build({"content/a.md": "x\n", "templates/page.html": SIMPLE})
    made.failed(f"error: {output}: not a directory")
    assert output.read_text(encoding="utf-8") == "a file"


@pytest.mark.error
@pytest.mark.parametrize(
    "arguments", [[], ["paint", "a", "b"], ["build", "a"]], ids=["none", "unknown", "too-few"]
)
def test_wrong_arguments(pagemill, arguments):
    done = pagemill.run(*arguments)
    assert done.returncode == 2
    assert "usage" in done.stderr.lower()
    assert "Traceback" not in done.stderr

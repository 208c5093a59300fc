"""The HTML report in a real browser: what people click, and what must never happen."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from engine.rundirectory import RunDirectory
from engine.views import html
from engine.views.formats import write_report
from engine.views.leaderboard import key_named, standings
from engine.views.run import FinishedRun, load_run
from tests.madeup import Shape, hostile_lines, make_run, write_run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
VIEWS = ("overview", "map", "checkpoints", "evaluations", "tests", "time", "trouble")
# As root there is no sandbox; the rest keeps the browser from calling home.
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


class Tab:
    """A page that remembers everything that should not have happened."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        self.complaints.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith("file:"):
            self.complaints.append(f"request: {request.url[:200]}")

    def open(self, path: Path, view: str = "") -> Page:
        """Go to a view and wait until it and its plots are drawn."""
        self.page.goto(f"file://{path}#/{view}")
        self.page.wait_for_selector("html[data-ready]")
        name = view.partition("?")[0] or "overview"
        self.page.wait_for_selector(f"main[data-view='{name}']")
        if self.page.locator(".plot").count():
            self.page.wait_for_selector(".plot[data-drawn]")
        return self.page


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    # No longer than this module: while the driver runs, no other event loop can.
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert path, "no Chromium here: apt-get install chromium"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS.split())
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Tab]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    tab = Tab(context.new_page())
    yield tab
    context.close()
    assert not tab.complaints


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    directory = make_run(tmp_path_factory.mktemp("small"), Shape(models=4, repeat=2))
    write_report(directory)
    return directory


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    shape = Shape(models=10, problems=20, checkpoints=5, repeat=2, tests=100)
    directory = make_run(tmp_path_factory.mktemp("big"), shape)
    write_report(directory)
    return directory


def report_of(directory: RunDirectory) -> Path:
    return directory.path / "report.html"


def failed_one(run: FinishedRun) -> str:
    return next(line.id for line in run.lines if line.verdict.value == "failed")


def rows_of(page: Page, caption: str) -> list[list[str]]:
    """Read a table as people do."""
    body = page.get_by_role("table", name=caption, exact=True).locator("tbody tr")
    return [row.locator("td").all_inner_texts() for row in body.all()]


def test_two_thousand_evaluations_load_at_once(tab: Tab, big: RunDirectory) -> None:
    """A report of 2,000 evaluations and 200,000 tests can be used within two seconds."""
    tab.page.add_init_script(
        "new MutationObserver(() => {"
        " if (document.documentElement.dataset.ready) window.usable ??= performance.now(); })"
        ".observe(document, { attributes: true, subtree: true, childList: true })"
    )
    page = tab.open(report_of(big))
    assert page.evaluate("window.usable") < 2000
    assert "2,000 evaluations" in page.inner_text("#about")
    assert report_of(big).stat().st_size < 20_000_000


def test_two_thousand_evaluations_are_filtered_and_opened(tab: Tab, big: RunDirectory) -> None:
    """Filters, sorting, pages and a click lead from 2,000 evaluations to the message of one test."""
    page = tab.open(report_of(big), "evaluations")
    assert "2,000 in all" in page.inner_text("main")
    page.get_by_label("verdict").select_option("failed")
    page.get_by_label("model", exact=True).select_option("model-9")
    page.get_by_label("search").fill("problem-07 checkpoint_3")
    page.get_by_role("heading", name="Evaluations (").filter(has_text="(2)").or_(
        page.get_by_role("heading", name="Evaluations (1)")
    ).wait_for()
    assert all(row[0] == "problem-07" and row[2] == "model-9" for row in rows_of(page, "Evaluations"))
    page.get_by_role("table", name="Evaluations").get_by_role("link").first.click()
    page.wait_for_selector("[data-ready] summary")
    page.locator("main td summary").first.click()
    assert "AssertionError" in page.locator("main td pre").first.inner_text()
    assert "scbench debug problem-07-checkpoint_3-model-9" in page.inner_text("main")
    page.go_back()
    page.wait_for_selector("main[data-view='evaluations']")
    assert page.get_by_label("search").input_value() == "problem-07 checkpoint_3"


def test_every_view_of_a_big_run(tab: Tab, big: RunDirectory) -> None:
    """No view is too much for the browser, and none says an error."""
    for view in VIEWS:
        page = tab.open(report_of(big), view)
        assert page.locator("main h2").count() > 0


def test_the_page_counts_as_the_engine_does(tab: Tab, small: RunDirectory) -> None:
    """The leaderboard of the page has the rates and intervals of every other form."""
    run = load_run(small)
    for label in ("model", "problem", "checkpoint"):
        page = tab.open(report_of(small), f"overview?by={label}")
        read = rows_of(page, f"Leaderboard by {label}")
        shown = [[row[0], *_numbers(row[1]), *_numbers(row[2])] for row in read]
        wanted = [
            [one.name, 100 * one.share, 100 * one.interval.low, 100 * one.interval.high]
            for one in standings(run.lines, key_named(label))
            if one.share is not None and one.interval is not None
        ]
        assert [row[0] for row in shown] == [row[0] for row in wanted]
        for seen, meant in zip(shown, wanted, strict=True):
            assert seen[1:] == pytest.approx(meant[1:], abs=0.51)
            assert seen[1] == pytest.approx(meant[1], abs=0.051)


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"[\d.]+", text)]


def test_columns_sort_and_the_address_keeps_it(tab: Tab, small: RunDirectory) -> None:
    """A column that is clicked sorts, and the address leads back to the same view."""
    page = tab.open(report_of(small), "time")
    table = page.get_by_role("table", name="Slowest evaluations")
    table.get_by_role("button", name="prepare").click()
    before = rows_of(page, "Slowest evaluations")
    assert "slow.sort=-t.prepare" in page.url
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert rows_of(page, "Slowest evaluations") == before


def test_a_cell_of_the_heat_map_leads_to_its_evaluations(tab: Tab, small: RunDirectory) -> None:
    """A click on the plot, or on the same number in its table, opens what is behind it."""
    page = tab.open(report_of(small), "map")
    page.wait_for_selector(".plot[data-drawn]")
    page.locator(".plot .nsewdrag").first.click(position={"x": 40, "y": 10})
    page.wait_for_selector("main[data-view='evaluations']")
    assert {tuple(row[:3]) for row in rows_of(page, "Evaluations")} == {
        ("problem-00", "checkpoint_1", "model-0")
    }
    page.go_back()
    page.wait_for_selector("main[data-view='map']")
    page.get_by_text("As a table").click()
    page.get_by_role("table", name="Scores by problem").get_by_role("link").first.click()
    page.wait_for_selector("main[data-view='evaluations']")


def test_a_test_leads_to_where_it_failed(tab: Tab, small: RunDirectory) -> None:
    """From a test that fails often, one click lists the evaluations in which it did."""
    page = tab.open(report_of(small), "tests")
    number = page.get_by_role("table", name="Tests").get_by_role("link").first
    wanted = number.inner_text()
    number.click()
    page.wait_for_selector("main[data-view='evaluations']")
    assert f"Evaluations ({wanted})" in page.inner_text("main")


def test_the_keyboard_is_enough(tab: Tab, small: RunDirectory) -> None:
    """Keys search, change views, walk through a list, open an entry and close the help."""
    page = tab.open(report_of(small))
    page.keyboard.press("4")
    page.wait_for_selector("main[data-view='evaluations']")
    page.keyboard.press("/")
    page.keyboard.type("model-1")
    page.get_by_text("Evaluations (12)").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("main[data-view='evaluation']")
    page.keyboard.press("?")
    assert page.locator("dialog").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()
    page.keyboard.press("x")
    page.wait_for_selector("main[data-view='evaluations']")
    assert page.get_by_label("search").input_value() == ""


def test_light_and_dark(chromium: Browser, small: RunDirectory) -> None:
    """The page follows the system, and a click changes and remembers it."""
    context = chromium.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(f"file://{report_of(small)}")
    page.wait_for_selector("html[data-theme='dark'][data-ready]")
    page.get_by_role("button", name="Light").click()
    page.wait_for_selector("html[data-theme='light']")
    page.reload()
    page.wait_for_selector("html[data-theme='light'][data-ready]")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(chromium: Browser, small: RunDirectory, scheme: str) -> None:
    """Every view passes the checks of axe, in light and in dark."""
    context = chromium.new_context(color_scheme="dark" if scheme == "dark" else "light")
    tab = Tab(context.new_page())
    told = []
    for view in (*VIEWS, f"evaluation?id={failed_one(load_run(small))}"):
        page = tab.open(report_of(small), view)
        found = Axe().run(page).response["violations"]
        told += [f"{view}: {one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}" for one in found]
    context.close()
    assert not told
    assert not tab.complaints


@pytest.mark.parametrize("width", [360, 768])
def test_a_narrow_screen_is_enough(chromium: Browser, small: RunDirectory, width: int) -> None:
    """On a small screen nothing sticks out of the page sideways."""
    context = chromium.new_context(viewport={"width": width, "height": 800})
    tab = Tab(context.new_page())
    for view in (*VIEWS, f"evaluation?id={failed_one(load_run(small))}"):
        page = tab.open(report_of(small), view)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
    context.close()
    assert not tab.complaints


def test_hostile_text_is_only_text(tab: Tab, tmp_path: Path) -> None:
    """No name, label, message or reason runs as script or becomes an element, in any view."""
    run = write_run(RunDirectory(path=tmp_path / "madeup", run_id="madeup"), hostile_lines())
    path = write_report(run)
    ids = [f"evaluation?id={line.id}" for line in load_run(run).lines]
    for view in (*VIEWS, *ids):
        page = tab.open(path, view)
        for summary in page.locator("main summary").all():
            summary.click()
        assert page.evaluate("window.owned") is None
        assert (
            page.locator("main img, main iframe, main a[href^='javascript'], main a[href^='http']").count()
            == 0
        )
        assert page.locator("body script:not([type])").count() == 1
    assert "<img src=x onerror" in tab.page.inner_text("body")


def test_plots_are_named_as_missing(
    tab: Tab, small: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the plotting library the page says so and shows the numbers as tables."""
    monkeypatch.setattr(html, "plotting_library", lambda: None)
    path = tmp_path / "plain.html"
    path.write_bytes(html.render(load_run(small)))
    page = tab.open(path, "map")
    assert "pip install" in page.inner_text("main")
    assert rows_of(page, "Scores by problem and checkpoint")


def test_an_evaluation_that_is_not_there(tab: Tab, small: RunDirectory) -> None:
    """An old link to an evaluation that this run does not have says so."""
    page = tab.open(report_of(small), "evaluation?id=nobody")
    assert "no such evaluation" in page.inner_text("main")


def test_an_evaluation_whose_folder_is_gone(tab: Tab, tmp_path: Path) -> None:
    """The page still opens an evaluation whose details were removed, and says why there are none."""
    directory = make_run(tmp_path, Shape())
    run = load_run(directory)
    name = failed_one(run)
    shutil.rmtree(directory.evaluation(name))
    page = tab.open(write_report(directory), f"evaluation?id={name}")
    page.get_by_text("its folder is gone").wait_for()


def test_a_real_run_leaves_its_report(tab: Tab, tmp_path: Path) -> None:
    """At the end of every run a report lies in its folder, with what was really run."""
    arguments = ["--sandbox", "local", "--select", "ledger/checkpoint_1", "--output", str(tmp_path)]
    told = subprocess.run(
        ["scbench", "run", "manifests/quickstart.yaml", "--run-id", "night", *arguments],
        cwd=ROOT,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    path = tmp_path / "night" / "report.html"
    assert f"report: {path}" in told.stderr
    page = tab.open(path, "evaluations")
    assert [row[2:4] for row in rows_of(page, "Evaluations")]
    page = tab.open(path, "time")
    assert {row[0] for row in rows_of(page, "Slowest evaluations")} == {"ledger"}
    name = failed_one(load_run(RunDirectory.find(tmp_path, "night")))
    page = tab.open(path, f"evaluation?id={name}")
    page.wait_for_selector("[data-ready] summary")
    page.locator("main td summary").first.click()
    assert page.locator("main td pre").first.inner_text().strip()

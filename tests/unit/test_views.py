import csv
import io
import re
from pathlib import Path

import junitparser
import msgspec
import pytest
import xmlschema
from click.testing import CliRunner
from markdown_it import MarkdownIt
from rich.console import Console

from engine.cli import cli
from engine.events import EvaluationFlaky, RunStarted, encode
from engine.results import GroupType, Verdict
from engine.rundirectory import RunDirectory
from engine.views import csv as csv_view
from engine.views import html, junit, markdown, terminal
from engine.views.formats import FORMATS, write_report
from engine.views.run import FinishedRun, load_run
from engine.views.text import one_line, seconds, shortened, visible
from tests.madeup import Shape, flaky_test, hostile_lines, made_up_lines, make_run, write_run

SCHEMA = Path(__file__).parent.parent / "data" / "junit" / "junit.xsd"


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return make_run(tmp_path, Shape())


@pytest.fixture
def run(directory: RunDirectory) -> FinishedRun:
    return load_run(directory)


@pytest.fixture
def hostile(tmp_path: Path) -> FinishedRun:
    return load_run(write_run(RunDirectory(path=tmp_path / "hostile", run_id="madeup"), hostile_lines()))


def test_a_run_is_read_whole(run: FinishedRun) -> None:
    """Lines, order of checkpoints, attempts and warnings come from the directory."""
    assert len(run.lines) == 18
    assert run.checkpoints["problem-00"] == ("checkpoint_1", "checkpoint_2", "checkpoint_3")
    assert {span.evaluation_id for span in run.spans} == {line.id for line in run.lines}
    assert all(0 <= span.start < span.end <= run.duration for span in run.spans)
    assert [warning.name for warning in run.warnings] == ["manifest"]
    assert (run.ending, run.remaining, run.policy) == ("completed", 0, "core-cases")


def test_details_are_read_when_asked_for(run: FinishedRun) -> None:
    """Tests and output lie in the folder of the evaluation; one that is gone or damaged is told."""
    line = next(line for line in run.lines if line.broken is None)
    assert len(run.details(line).tests) == 12
    kept = run.directory.evaluation(line.id) / "evaluation.json"
    kept.write_text('{"half')
    assert "cannot be read" in run.details(line).missing
    kept.unlink()
    assert run.details(line).missing


def test_a_run_that_was_killed_can_be_shown(directory: RunDirectory) -> None:
    """A journal that ends in half a line still tells what happened before."""
    data = directory.journal.read_bytes()
    directory.journal.write_bytes(data[: len(data) * 2 // 3])
    run = load_run(directory)
    assert run.lines
    assert run.ending == ""
    assert run.remaining == 18 - len(run.lines)
    assert write_report(directory).read_bytes().startswith(b"<!doctype html>")


def test_a_run_without_results_can_be_shown(tmp_path: Path) -> None:
    """Every form can tell of a run in which nothing has finished yet."""
    directory = RunDirectory(path=tmp_path, run_id="young")
    directory.journal.write_bytes(encode(RunStarted(run_id="young")) + b"\n")
    run = load_run(directory)
    assert all(render(run) for render in FORMATS.values())


def test_repeats_that_differ_are_flaky(tmp_path: Path) -> None:
    """Outcomes of equal evaluations that differ are flaky, and those that a run names are kept."""
    directory = make_run(tmp_path, Shape(repeat=4))
    event = EvaluationFlaky(run_id="madeup", evaluation_id="named", tests=(flaky_test(1),))
    with directory.journal.open("ab") as journal:
        journal.write(encode(event) + b"\n")
    run = load_run(directory)
    assert run.flaky["named"][0].id == "test_case_1"
    found = {line.id: line for line in run.lines}
    for name in run.flaky.keys() - {"named"}:
        alike = [line for line in run.lines if line.fingerprint == found[name].fingerprint]
        assert len({(line.verdict, tuple(line.pass_counts.items())) for line in alike}) > 1


def test_csv_has_a_row_for_each_evaluation(run: FinishedRun) -> None:
    """A spreadsheet gets numbers as numbers and a column for each label."""
    rows = list(csv.DictReader(io.StringIO(csv_view.render(run).decode())))
    assert [row["id"] for row in rows] == [line.id for line in run.lines]
    assert rows[0]["label.model"] == "model-0"
    assert int(rows[0]["Core.total"]) == run.lines[0].total_counts[GroupType.CORE]


def test_csv_runs_no_formula(hostile: FinishedRun) -> None:
    """No cell begins with what a spreadsheet would run, not even in the heading."""
    rows = list(csv.reader(io.StringIO(csv_view.render(hostile).decode())))
    assert len(rows) == 1 + len(hostile.lines)
    cells = [cell for row in rows for cell in row if not re.fullmatch(r"-?\d+(\.\d+)?", cell)]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]
    assert not any("\x1b" in cell for cell in cells)


def test_json_is_one_document(run: FinishedRun) -> None:
    """Another program gets leaderboards by every label, and every evaluation."""
    document = msgspec.json.decode(FORMATS["json"](run))
    assert set(document["leaderboards"]) == {"model", "track", "problem", "checkpoint"}
    assert len(document["evaluations"]) == len(run.lines)
    assert sum(row["verdicts"]["passed"] for row in document["leaderboards"]["model"]) == sum(
        line.verdict is Verdict.PASSED for line in run.lines
    )


def test_markdown_is_a_table_and_no_more(hostile: FinishedRun) -> None:
    """Names and messages make no link, no emphasis, no HTML and no further cell."""
    text = markdown.render(hostile).decode()
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    inline = [child for token in tokens for child in (token.children or ())]
    assert not [child for child in inline if child.type in {"link_open", "em_open", "html_inline", "image"}]
    assert {child.content for child in inline if child.type == "text"} >= {"rate", "95 %"}
    blocks = [token.content.strip() for token in tokens if token.type == "html_block"]
    assert all(
        re.fullmatch(r"</details>|<details><summary>by <code>[^<>]*</code></summary>", block)
        for block in blocks
    )
    wide = [token for token in tokens if token.type == "tr_open"]
    assert len(wide) > len(hostile.lines)
    assert "\x1b" not in text


def test_markdown_fits_a_comment(tmp_path: Path) -> None:
    """A run of many labels and breakages is cut to what a pull request takes."""
    run = load_run(make_run(tmp_path, Shape(models=60, problems=30, checkpoints=1, tests=2)))
    text = markdown.render(run).decode()
    assert len(text) < 65_536
    assert "... and 10 more" in text


def test_the_terminal_is_not_steered(hostile: FinishedRun) -> None:
    """A label can neither colour the table, nor move the cursor, nor make a link."""
    console = Console(file=io.StringIO(), width=400, force_terminal=True)
    console.print(terminal.render(hostile.lines))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "[red]markup[/]" in shown
    assert "\\x1b[31mred" in shown
    assert "\x1b]" not in shown
    assert "\x9b" not in shown
    assert "\u202e" not in shown


def test_junit_fits_its_schema(run: FinishedRun, hostile: FinishedRun) -> None:
    """What continuous integration reads is valid, whatever tests are called."""
    schema = xmlschema.XMLSchema(SCHEMA)
    for one in (run, hostile):
        schema.validate(junit.render(one).decode())


def test_junit_is_read_by_a_real_reader(run: FinishedRun) -> None:
    """A library that others use finds the suites, the failures and what is broken."""
    read = junitparser.JUnitXml.fromstring(junit.render(run))
    suites = list(read)
    assert [suite.tests for suite in suites] == [len(list(suite)) for suite in suites]
    for suite, line in zip(suites, run.lines, strict=True):
        assert suite.errors == (line.broken is not None)
        assert suite.failures == sum(test.status == "failed" for test in run.details(line).tests)
    failed = next(case for suite in suites for case in suite if case.result)
    assert failed.result[0].message


def test_junit_keeps_hostile_names_as_text(hostile: FinishedRun) -> None:
    """Names come back as they were, with what XML cannot hold spelled out."""
    read = junitparser.JUnitXml.fromstring(junit.render(hostile))
    names = {case.name for suite in read for case in suite}
    assert "test_x[</script><script>window.owned = 1</script>]" in names
    assert any("\\x1b[31mred" in name for name in names)


def test_html_carries_hostile_text_only_packed(hostile: FinishedRun) -> None:
    """Nothing that a submission named stands in the page as it is, and only our scripts may run."""
    page = html.render(hostile).decode()
    head = page[: page.index('<script type="text/plain"')]
    assert "owned" not in page
    assert "default-src 'none'" in head
    assert "'unsafe-eval'" not in head
    assert re.search(r"script-src 'sha256-[^;]*;", head)
    assert "unsafe-inline" not in re.search(r"script-src [^;]*;", head)[0]  # type: ignore[index]
    assert page.count("<script>") == 1


def test_html_without_the_plotting_library(run: FinishedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where plotly is not installed, the report is small and has no plots."""
    monkeypatch.setattr(html, "plotting_library", lambda: None)
    page = html.render(run)
    assert len(page) < 200_000
    assert b'id="plots"' not in page


def test_text_is_made_visible() -> None:
    """Characters that act are spelled out; lines and tabs stay."""
    assert visible("a\tb\nc\x1b[0m\u202e\ud800") == "a\tb\nc\\x1b[0m\\u202e\\ud800"
    assert one_line(" a\n\n b\x00 ") == "a b\\x00"
    assert len(one_line("x" * 1000)) == 200
    assert shortened("a" * 100, 40).startswith("a" * 10 + "\n[... 60 characters left out ...]\n")
    assert [seconds(value) for value in (3.21, 61, 3725)] == ["3.2 s", "1 min 01 s", "1 h 02 min"]


def test_the_command_shows_and_writes(directory: RunDirectory, tmp_path: Path) -> None:
    """`scbench report` prints a table, or writes the form that is asked for or that a file name says."""
    command = CliRunner()
    shown = command.invoke(cli, ["report", str(directory.path)])
    assert shown.exit_code == 0
    assert "model-0" in shown.output
    for form, file in {
        "html": "a.html",
        "markdown": "a.md",
        "csv": "a.csv",
        "junit": "a.xml",
        "json": "a.json",
    }.items():
        said = command.invoke(
            cli, ["report", str(directory.path), "--format", form, "--output", str(tmp_path / file)]
        )
        assert said.exit_code == 0, said.output
        guessed = command.invoke(cli, ["report", str(directory.path), "--output", str(tmp_path / f"b{file}")])
        assert guessed.exit_code == 0, guessed.output
        assert (tmp_path / file).read_bytes() == (tmp_path / f"b{file}").read_bytes()
    piped = command.invoke(cli, ["report", str(directory.path), "--format", "csv"])
    assert piped.stdout_bytes == (tmp_path / "a.csv").read_bytes()
    assert not list(tmp_path.glob("*.partial"))


def test_the_command_tells_mistakes(directory: RunDirectory, tmp_path: Path) -> None:
    """A run that is not there, a form that is not clear and a folder that is not there are told."""
    command = CliRunner()
    unclear = command.invoke(cli, ["report", str(directory.path), "--output", "x.pdf"])
    assert unclear.exit_code == 2
    assert "--format" in unclear.output
    absent = command.invoke(cli, ["report", "nowhere", "--runs", str(tmp_path)])
    assert "there is no run nowhere" in str(absent.exception)
    unwritable = command.invoke(
        cli, ["report", str(directory.path), "--output", str(tmp_path / "no" / "a.csv")]
    )
    assert "cannot write" in str(unwritable.exception)


def test_made_up_runs_are_the_same_each_time() -> None:
    """What the browser is shown does not change from one test run to the next."""
    assert made_up_lines(Shape()) == made_up_lines(Shape())

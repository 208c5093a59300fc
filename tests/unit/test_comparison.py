from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from engine.cli.compare import compare as compare_command
from engine.comparison import Comparison, compare, pair_up, why
from engine.events import ResultLine
from engine.grading import verdict_of
from engine.results import Broken, BrokenKind, EnvironmentRecord, GroupType, Status, TestResult, tally
from engine.rundirectory import RunDirectory
from engine.views import compared
from engine.views.run import load_run
from tests.madeup import write_run

Between = Callable[..., Comparison]
HOSTILE = "<script>alert(1)</script>|`\x1b[2J\u202e\n[bold]"


def outcome(name: str, status: Status, message: str | None = None) -> TestResult:
    return TestResult(
        id=name,
        checkpoint="c",
        group_type=GroupType.CORE,
        status=status,
        duration_ms=1.0,
        file_path="tests/test_c.py",
        failure_message=message,
    )


def line_of(
    name: str, statuses: Mapping[str, Status], fingerprint: str | None = None, **given: object
) -> ResultLine:
    tests = tuple(outcome(test, status) for test, status in statuses.items())
    passed, total = tally(tests)
    line = ResultLine(
        run_id="r",
        id=name,
        problem_name="p",
        checkpoint_name="c",
        labels={"model": "aurora"},
        verdict=verdict_of(None, passed, total, "core-cases"),
        policy="core-cases",
        pass_counts=passed,
        total_counts=total,
        duration=1.0,
        fingerprint=fingerprint,
        tests=tests,
    )
    return msgspec.structs.replace(line, **given)


def broken_line(name: str, kind: BrokenKind, statuses: Mapping[str, Status] | None = None) -> ResultLine:
    broken = Broken.of(kind, "so it was")
    verdict = verdict_of(broken, {}, {}, "core-cases")
    return line_of(name, statuses or {}, broken=broken, verdict=verdict)


@pytest.fixture
def between(tmp_path: Path) -> Between:
    """Compare two made-up runs."""

    def compared_runs(before: list[ResultLine], after: list[ResultLine], *ignore: str) -> Comparison:
        runs = []
        for name, lines in (("before", before), ("after", after)):
            directory = write_run(RunDirectory(path=tmp_path / name, run_id=name), lines)
            runs.append(load_run(directory))
        return compare(runs[0], runs[1], ignore)

    return compared_runs


def kinds(comparison: Comparison) -> dict[str, str]:
    return {change.line.id: change.kind for change in comparison.changes}


def changed_tests(comparison: Comparison) -> dict[str, str]:
    return {test.id: test.kind for change in comparison.changes for test in change.tests}


def test_each_evaluation_is_of_one_kind(between: Between) -> None:
    """Newly failing, fixed, broken, new, gone and unchanged are told apart."""
    comparison = between(
        [
            line_of("worse", {"t": "passed"}, "f1"),
            line_of("better", {"t": "failed"}, "f2"),
            line_of("same", {"t": "passed"}, "f3"),
            line_of("breaks", {"t": "passed"}, "f4"),
            broken_line("judged", BrokenKind.DAEMON_ERROR),
            line_of("gone", {"t": "passed"}, labels={"model": "old"}),
        ],
        [
            line_of("worse", {"t": "failed"}, "g1"),
            line_of("better", {"t": "passed"}, "g2"),
            line_of("same", {"t": "passed"}, "f3"),
            broken_line("breaks", BrokenKind.OUT_OF_MEMORY),
            line_of("judged", {"t": "failed"}, "g5"),
            line_of("new", {"t": "passed"}, labels={"model": "new"}),
        ],
    )
    assert kinds(comparison) == {
        "worse": "newly_failing",
        "better": "fixed",
        "same": "same",
        "breaks": "newly_broken",
        "judged": "judged",
        "gone": "gone",
        "new": "new",
    }
    assert {change.line.id for change in comparison.regressions} == {"worse", "breaks"}


def test_each_test_is_of_one_kind(between: Between) -> None:
    """Tests are compared one by one; skipped is not passed."""
    before: dict[str, Status] = {"a": "passed", "b": "failed", "c": "passed", "d": "passed", "gone": "passed"}
    after: dict[str, Status] = {"a": "failed", "b": "passed", "c": "skipped", "d": "passed", "new": "failed"}
    comparison = between([line_of("e", before, "f")], [line_of("e", after, "g")])
    expected = {"a": "newly_failing", "b": "fixed", "c": "newly_failing", "gone": "gone", "new": "new"}
    assert changed_tests(comparison) == expected


def test_a_test_that_fails_is_a_regression_whatever_the_verdict(between: Between) -> None:
    """A policy that looks away does not hide a test that was passed before."""
    comparison = between(
        [line_of("e", {"a": "passed", "b": "failed"}, "f")],
        [line_of("e", {"a": "failed", "b": "failed"}, "g")],
    )
    assert kinds(comparison) == {"e": "same"}
    assert len(comparison.regressions) == 1


def test_a_difference_without_a_change_is_flaky(between: Between) -> None:
    """With one fingerprint nothing can have become worse."""
    comparison = between([line_of("e", {"a": "passed"}, "f")], [line_of("e", {"a": "failed"}, "f")])
    assert kinds(comparison) == {"e": "flaky"}
    assert changed_tests(comparison) == {"a": "flaky"}
    assert not comparison.regressions


def test_repeats_that_differ_are_flaky(between: Between) -> None:
    """A test that was undecided in one of the runs is no regression in the other."""
    before = [
        line_of("e", {"a": "passed", "b": "passed"}, "f"),
        line_of("e-r2", {"a": "failed", "b": "passed"}, "f"),
    ]
    after = [
        line_of("e", {"a": "failed", "b": "failed"}, "g"),
        line_of("e-r2", {"a": "failed", "b": "failed"}, "g"),
    ]
    comparison = between(before, after)
    assert changed_tests(comparison) == {"a": "flaky", "b": "newly_failing"}


def test_infrastructure_is_no_regression(between: Between) -> None:
    """A daemon that went away says nothing about a submission, and tests that it cost are not gone."""
    comparison = between(
        [line_of("e", {"a": "passed", "b": "passed"}, "f")],
        [broken_line("e", BrokenKind.DAEMON_ERROR, {"a": "passed"})],
    )
    assert kinds(comparison) == {"e": "newly_broken"}
    assert changed_tests(comparison) == {}
    assert not comparison.regressions


def test_runs_of_other_manifests_are_paired_by_labels(between: Between) -> None:
    """Ids that differ are no obstacle, nor is a label that is to be ignored."""
    before = [line_of("one", {"a": "passed"}, "f", labels={"model": "x", "track": "open"})]
    after = [line_of("two", {"a": "failed"}, "g", labels={"model": "y", "track": "open"})]
    assert kinds(between(before, after, "model")) == {"two": "newly_failing"}
    assert kinds(between(before, after)) == {"one": "gone", "two": "new"}


def test_both_runs_are_judged_by_one_policy(between: Between) -> None:
    """Another policy alone is no change."""
    statuses: dict[str, Status] = {"a": "passed", "b": "failed"}
    lenient = msgspec.structs.replace(
        line_of("e", statuses, "f"),
        policy="any-case",
        verdict=verdict_of(None, {GroupType.CORE: 1}, {GroupType.CORE: 2}, "any-case"),
    )
    assert kinds(between([lenient], [line_of("e", statuses, "f")])) == {"e": "same"}


def test_scores_count_repeats_once(between: Between) -> None:
    """Five repeats of one evaluation are no more evidence than one."""
    before = [line_of(f"e-r{number}", {"a": "passed"}, "f") for number in range(8)]
    after = [line_of(f"e-r{number}", {"a": "failed"}, "g") for number in range(8)]
    comparison = between(before, after)
    overall = next(row for row in comparison.scores if row.label == "all")
    assert (overall.units, overall.worse, overall.before, overall.after) == (1, 1, 1.0, 0.0)
    assert not overall.is_more_than_noise


def test_the_changed_ingredient_is_named() -> None:
    """One sees which part of the fingerprint made an evaluation run again, with versions if it has any."""
    old = line_of(
        "e",
        {},
        ingredients={"submission": "1", "tests": "1", "packages": "1", "grader": "1"},
        environment=EnvironmentRecord(packages={"numpy": "1.0", "rich": "14"}),
    )
    new = line_of(
        "e",
        {},
        ingredients={"submission": "1", "tests": "2", "packages": "2", "grader": "1"},
        environment=EnvironmentRecord(packages={"numpy": "2.0", "click": "8"}),
    )
    expected = "the submission's packages: click none to 8, numpy 1.0 to 2.0, rich 14 to none"
    assert why(old, new) == ("the tests", expected)
    assert why(old, old) == ()


names = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["x", "y"])), max_size=8, unique_by=lambda n: n[0]
)


@given(names, names)
def test_every_result_is_in_one_pair(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> None:
    """Pairing loses nothing, doubles nothing, and never pairs what is unlike."""

    def lines(written: list[tuple[str, str]]) -> list[ResultLine]:
        return [line_of(name, {}, labels={"model": model}) for name, model in written]

    pairs = list(pair_up(lines(before), lines(after)))
    assert sorted(old.id for old, _ in pairs if old) == sorted(name for name, _ in before)
    assert sorted(new.id for _, new in pairs if new) == sorted(name for name, _ in after)
    for old, new in pairs:
        assert old or new
        if old and new:
            assert old.id == new.id or old.labels == new.labels


@pytest.fixture
def hostile(between: Between) -> Comparison:
    """A comparison of runs whose submissions chose every text."""
    tests = (outcome(HOSTILE, "failed", HOSTILE),)
    passed = (outcome(HOSTILE, "passed"),)
    labels = {"model": HOSTILE}
    before = line_of("e", {"t": "passed"}, "f", labels=labels, tests=passed)
    after = line_of("e", {"t": "failed"}, "g", labels=labels, tests=tests)
    return between([before], [after])


def test_hostile_names_in_html(hostile: Comparison) -> None:
    """No name or message becomes markup, and the page may load and run nothing."""
    page = compared.html(hostile).decode()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page
    assert "default-src 'none'" in page


def test_hostile_names_in_markdown(hostile: Comparison) -> None:
    """Every foreign text stands in a code span, and no cell is left early."""
    text = compared.markdown(hostile).decode()
    assert "\x1b" not in text
    rows = [line for line in text.splitlines() if "script" in line]
    assert rows
    for row in rows:
        assert row.startswith("| ")
        assert row.endswith(" |")
        assert "`<script>" in row or "`` <script>" in row or "``<script>" in row


def test_hostile_names_on_a_terminal(hostile: Comparison) -> None:
    """What steers a terminal is spelled out, and nothing is read as markup."""
    console = Console(width=400, record=True, quiet=False, file=None, force_terminal=False)
    with console.capture() as captured:
        console.print(compared.terminal(hostile))
    assert "\x1b" not in captured.get()
    assert "[bold]" in captured.get()


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    """A folder with a run and a worse one."""
    for name, status in (("one", "passed"), ("two", "failed")):
        line = line_of("e", {"t": status}, name)  # type: ignore[dict-item]
        write_run(RunDirectory(path=tmp_path / name, run_id=name), [line])
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("one", "two"), 0),
        (("one", "two", "--fail-on", "regressions"), 1),
        (("two", "one", "--fail-on", "regressions"), 0),
    ],
)
def test_regressions_fail_where_that_was_asked_for(
    two_runs: Path, arguments: tuple[str, ...], code: int
) -> None:
    """`--fail-on regressions` is what a CI job goes by."""
    result = CliRunner().invoke(compare_command, [*arguments, "--output", str(two_runs)])
    assert result.exit_code == code
    assert "Newly failing (1)" in result.output or "Fixed (1)" in result.output


@pytest.mark.parametrize(("form", "begin"), [("html", "<!doctype html>"), ("markdown", "## `one` to `two`")])
def test_other_forms_go_to_a_file(two_runs: Path, form: str, begin: str) -> None:
    """A comparison can be kept."""
    target = two_runs / "comparison"
    arguments = ["one", "two", "--output", str(two_runs), "--format", form, "--to", str(target)]
    result = CliRunner().invoke(compare_command, arguments)
    assert result.exit_code == 0, result.output
    assert target.read_text().startswith(begin)

"""Results are values that survive being written down."""

import json
import math
import re
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.grading import judge
from engine.results import (
    FAULTS,
    SCHEMA_VERSION,
    Broken,
    BrokenKind,
    CorrectnessResults,
    EnvironmentRecord,
    GroupType,
    IntegrityWarning,
    TestResult,
    Verdict,
    printable,
    tally,
)

OLD_FILE = Path(__file__).parents[1] / "data" / "results" / "scbench.json"

# Any text, also with lone surrogates, and any number, also NaN and the infinities.
texts = st.text(st.characters(exclude_categories=()), max_size=20)
times = st.floats()
counts = st.dictionaries(st.sampled_from(GroupType), st.integers(0, 10_000))

tests = st.builds(
    TestResult,
    id=texts,
    checkpoint=texts.map(printable),
    group_type=st.sampled_from(GroupType),
    status=st.sampled_from(("passed", "failed", "skipped", "error")),
    duration_ms=times,
    file_path=texts,
    markers=st.lists(texts, max_size=3).map(tuple),
    failure_message=st.none() | texts,
)
breakages = st.builds(Broken.of, st.sampled_from(BrokenKind), texts)
results = st.builds(
    CorrectnessResults,
    problem_name=texts.map(printable),
    checkpoint_name=texts.map(printable),
    duration=times,
    tests=st.lists(tests, max_size=4).map(tuple),
    pass_counts=counts,
    total_counts=counts,
    pytest_exit_code=st.none() | st.integers(-1, 255),
    pytest_collected=st.none() | st.integers(0, 10_000),
    infrastructure_failure=st.booleans(),
    broken=st.none() | breakages,
    timings=st.dictionaries(st.text(max_size=5), times, max_size=3),
    environment=st.builds(EnvironmentRecord, image=st.text(max_size=10), sealed=st.booleans()),
    integrity=st.lists(st.builds(IntegrityWarning, name=st.text(max_size=5), detail=texts), max_size=2).map(
        tuple
    ),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@settings(deadline=None)
@given(value=results)
def test_what_is_saved_is_loaded_again_exactly(value: CorrectnessResults, folder: Path) -> None:
    """Every value that can be made comes back equal, whatever text and numbers it was made of."""
    value.save(folder / "evaluation.json")
    assert CorrectnessResults.load(folder / "evaluation.json") == value


@settings(deadline=None)
@given(value=results)
def test_what_is_saved_fits_the_schema(value: CorrectnessResults, folder: Path) -> None:
    """The schema that is generated from the types describes the file."""
    value.save(folder / "evaluation.json")
    document = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, msgspec.json.schema(CorrectnessResults))


@settings(deadline=None)
@given(texts)
def test_printable_text_stays_what_it_is(text: str) -> None:
    """Writing out is done once: it changes nothing that UTF-8 can hold."""
    once = printable(text)
    assert printable(once) == once
    assert once.encode().decode() == once
    if not re.search("[\ud800-\udfff]", text):
        assert once == text


def test_saving_leaves_no_partial_file(folder: Path) -> None:
    """A file is complete or not there."""
    CorrectnessResults(problem_name="p", checkpoint_name="c", duration=1.0).save(folder / "alone.json")
    assert list(folder.glob("alone*")) == [folder / "alone.json"]


def test_the_file_names_its_schema_version(folder: Path) -> None:
    """Readers can tell what they have."""
    CorrectnessResults(problem_name="p", checkpoint_name="c", duration=1.0).save(folder / "e.json")
    assert json.loads((folder / "e.json").read_text())["schema_version"] == SCHEMA_VERSION


def test_a_file_without_a_version_is_still_read() -> None:
    """Results as SCBench wrote them have fewer fields and mean the same."""
    old = CorrectnessResults.load(OLD_FILE)
    assert [(test.checkpoint, test.id, test.status) for test in old.tests] == [
        ("checkpoint_2", "test_counts", "passed"),
        ("checkpoint_1", "test_counts", "failed"),
    ]
    assert judge(old, "core-cases") is Verdict.PASSED
    assert judge(old, "all-cases") is Verdict.FAILED


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (2, BrokenKind.COLLECTION_ERROR),
        (3, BrokenKind.INTERNAL_ERROR),
        (4, BrokenKind.USAGE_ERROR),
        (5, BrokenKind.NO_TESTS),
        (0, BrokenKind.REPORT_MISSING),
    ],
)
def test_an_old_infrastructure_failure_becomes_broken(code: int, kind: BrokenKind, folder: Path) -> None:
    """What was only a flag gets its kind from the exit code."""
    document = json.loads(OLD_FILE.read_text()) | {"infrastructure_failure": True, "pytest_exit_code": code}
    (folder / "old.json").write_text(json.dumps(document))
    loaded = CorrectnessResults.load(folder / "old.json")
    assert loaded.broken is not None
    assert (loaded.broken.kind, loaded.broken.fault) == (kind, FAULTS[kind])
    assert judge(loaded, "any") is Verdict.BROKEN


def test_a_file_of_a_later_version_is_refused(folder: Path) -> None:
    """Rather than being read as something that it is not; the message says what to do."""
    document = json.loads(OLD_FILE.read_text()) | {"schema_version": SCHEMA_VERSION + 1}
    (folder / "new.json").write_text(json.dumps(document))
    with pytest.raises(msgspec.ValidationError, match="use the engine that wrote it"):
        CorrectnessResults.load(folder / "new.json")


@settings(deadline=None)
@given(st.lists(tests, max_size=10))
def test_a_tally_counts_every_test_once(graded: list[TestResult]) -> None:
    """Totals add up to the tests, and no group has more passes than tests."""
    passed, total = tally(graded)
    assert sum(total.values()) == len(graded)
    assert all(passed[group] <= total[group] for group in GroupType)
    assert set(passed) == set(total) == set(GroupType)


def test_every_kind_of_breakage_has_a_fault() -> None:
    """Blame is never a matter of taste."""
    assert set(FAULTS) == set(BrokenKind)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_times_that_cannot_be_are_zero(number: float) -> None:
    """JSON has no word for them, and a sum must stay a sum."""
    value = CorrectnessResults(
        problem_name="p", checkpoint_name="c", duration=number, timings={"run": number}
    )
    assert (value.duration, value.timings) == (0.0, {"run": 0.0})

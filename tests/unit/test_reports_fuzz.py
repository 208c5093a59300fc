"""A short form of `tests/fuzz/reports.py`, on inputs that hypothesis chooses and makes small."""

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.reports import FORMATS, Report, Undecodable
from tests.fuzz.reports import corpus, main, mutated, violation, wrong_pass

CORPUS = corpus()


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(CORPUS), st.randoms(use_true_random=False))
def test_damage_never_makes_a_pass(entry: tuple[str, str, bytes], chance: random.Random) -> None:
    """A test that the bytes do not show as passed is never read as passed."""
    _, name, data = entry
    assert violation(name, mutated(data, chance)) == ""


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(CORPUS), st.randoms(use_true_random=False))
def test_a_damaged_report_never_makes_a_verdict_better(
    entry: tuple[str, str, bytes], chance: random.Random
) -> None:
    """What the channel did not see pass does not pass, whatever a report claims."""
    case, name, data = entry
    assert wrong_pass(case, name, mutated(data, chance)) == ""


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from(tuple(FORMATS)))
def test_any_bytes_are_a_report_or_a_reason(data: bytes, name: str) -> None:
    """Nothing is raised, whatever a file holds."""
    assert isinstance(FORMATS[name](data), Report | Undecodable)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(st.characters(exclude_categories=()), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.data())
def test_any_document_of_the_right_shape_is_read_without_a_wrong_pass(data: st.DataObject) -> None:
    """Values of every type in every field give at worst a test that is not passed."""
    fields = ("nodeid", "name", "outcome", "status", "setup", "call", "teardown", "duration", "stop", "tags")
    values = json_values | st.sampled_from(("passed", "failed", {"outcome": "passed"}, 0))
    tests = data.draw(st.lists(st.dictionaries(st.sampled_from(fields), values), max_size=4))
    document = json.dumps({"exitcode": 0, "tests": tests, "results": {"tests": tests}}).encode()
    for name in FORMATS:
        assert violation(name, document) == ""


def test_the_long_form_runs() -> None:
    """The script that tries a million inputs works, on a few."""
    assert main(300, seed=1) == 0

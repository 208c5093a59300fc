"""Evaluations that arrive one a line."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from engine.evaluation import Evaluation
from engine.lines import BadLine, looks_like_lines, read_lines, read_lines_async
from engine.manifest import Manifest, load_base
from engine.sources import Given

DATA = Path(__file__).parents[1] / "data" / "manifests"
SUBMISSION = str(DATA / "submissions" / "bob" / "greet" / "checkpoint_1")


@pytest.fixture
def base(tmp_path: Path) -> Manifest:
    """What the lines do not say."""
    path = tmp_path / "base.yaml"
    path.write_text(
        f"version: 1\nproblems: {DATA / 'problems'}\nenvironments: {{a: {{}}, b: {{}}}}\nenvironment: a\n"
    )
    return load_base(path, Given(variables={}))


def line(**said: object) -> bytes:
    """A line that is right but for what is said."""
    entry = {"problem": "greet", "checkpoint": "checkpoint_1", "submission": SUBMISSION, **said}
    return json.dumps(entry).encode() + b"\n"


def test_lines_become_evaluations(base: Manifest) -> None:
    """A line says what an entry of a manifest says, and the base says the rest."""
    first, second = read_lines([line(labels={"n": 1}), b"\n", line(environment="b")], base)
    assert isinstance(first, Evaluation)
    assert isinstance(second, Evaluation)
    assert (first.environment.name, first.labels) == ("a", (("n", "1"),))
    assert second.environment.name == "b"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (b"{nope\n", "not a line of JSON"),
        (b"\xff\xfe\n", "not a line of JSON"),
        (b"[1]\n", "expected a mapping, got a list"),
        (line(problem="gret"), "there is no problem `gret`"),
        (line(checkpoint="x"), "has no checkpoint `x`"),
        (line(submission="nowhere"), "nowhere does not exist"),
        (line(environment="c"), "there is no environment `c`"),
        (line(lables={}), "unknown key `lables`"),
        (line(), "the same evaluation as line 1"),
    ],
)
def test_a_bad_line_is_told_and_does_not_stop_the_rest(base: Manifest, bad: bytes, message: str) -> None:
    """Its number is in the place, and the lines before and after it are evaluated."""
    before, wrong, after = read_lines([line(), b"\n", bad, line(labels={"n": "2"})], base)
    assert isinstance(before, Evaluation)
    assert isinstance(after, Evaluation)
    assert isinstance(wrong, BadLine)
    assert wrong.number == 3
    assert wrong.places[0].line == 3
    assert message in wrong.message


def test_a_line_that_the_base_leaves_out_is_told(tmp_path: Path) -> None:
    """No line is dropped without a word."""
    path = tmp_path / "base.yaml"
    path.write_text(f"version: 1\nproblems: {{path: {DATA / 'problems'}, exclude: [greet]}}\n")
    (answer,) = read_lines([line()], load_base(path, Given(variables={})))
    assert isinstance(answer, BadLine)
    assert "cannot be evaluated" in answer.message


def test_lines_are_read_only_as_they_are_consumed(base: Manifest) -> None:
    """Who consumes slowly holds the producer back."""
    taken = []

    def producer() -> Iterator[bytes]:
        for number in range(1000):
            taken.append(number)
            yield line(labels={"n": number})

    evaluations = read_lines(producer(), base)
    next(evaluations)
    next(evaluations)
    assert taken == [0, 1]


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_lines_are_read_without_blocking(base: Manifest) -> None:
    """The same from an asynchronous source, on either backend."""

    async def producer() -> AsyncIterator[bytes]:
        for number in range(3):
            yield line(labels={"n": number})
        yield b"nonsense\n"

    answers = [type(item) async for item in read_lines_async(producer(), base)]
    assert answers == [Evaluation, Evaluation, Evaluation, BadLine]


@pytest.mark.parametrize(
    ("beginning", "answer"),
    [
        (line(), True),
        (b'\n\n{"problem": "x"}\n{"problem": "y"}\n', True),
        (b'{"version": 1, "problems": "p"}\n', False),
        (b'{\n "version": 1\n}\n', False),
        (b"version: 1\n", False),
        (b"", False),
    ],
)
def test_lines_are_told_from_a_manifest(beginning: bytes, answer: bool) -> None:
    """One complete object a line that is no manifest is the first of many."""
    assert looks_like_lines(beginning) is answer

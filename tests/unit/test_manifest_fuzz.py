"""Whatever stands in a manifest, there is a plan or a clean message, never a traceback."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.cli.check import examine
from engine.cli.sources import Sources

DATA = Path(__file__).parents[1] / "data" / "manifests"
HEAD = "version: 1\nproblems: ../problems\n"
RIGHT = [
    HEAD + "submissions:\n  - path: ../submissions/{model}/{problem}/{checkpoint}\n",
    HEAD + "submissions: [{path: '../submissions/{m}/greet/{checkpoint}', problem: greet, labels: {a: 1}}]\n",
    HEAD
    + "environments:\n  a: &a {image: x, setup: [uv sync], env: {B: 1}}\n  b: {<<: *a, image: y}\n"
    + "matrix: {environment: [a, b]}\nrepeat: 2\ntimeouts: {test: 10s, session: 1m}\n"
    + "resources: {memory: 1GiB}\nevaluations:\n"
    + "  - {problem: greet, checkpoint: checkpoint_1, submission: ../submissions/ada/greet/checkpoint_1}\n"
    + "  - {problem: count, checkpoint: basic, submission: ../submissions/ada/count/basic, environment: b}\n",
]
BROKEN = sorted(path.read_text("utf-8", "replace") for path in (DATA / "broken").glob("*.yaml"))
# Nearly right ones go furthest, so they come as often as all others together.
SEEDS = [*BROKEN, *RIGHT * (len(BROKEN) // len(RIGHT))]
TOKENS = [
    ": ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    "'",
    '"',
    "\n",
    "  ",
    "*",
    "&a ",
    "*a",
    "<<: ",
    "${X}",
    "0",
    "-1",
    "~",
    "|",
    ">",
]
WORDS = [
    "true",
    "null",
    ".inf",
    ".nan",
    "1e999",
    "2025-01-01",
    "auto",
    "off",
    "{problem}",
    "..",
    "/",
    "\t",
    "é",
    "\x00",
]


def mutated(text: str, seed: int) -> str:
    """Cut, double, swap and insert, as a slip of the hand or a bad script would."""
    dice = random.Random(seed)
    for _ in range(dice.choice([0, 1, 1, 2, 3, 6])):
        start = dice.randint(0, len(text))
        end = min(len(text), start + dice.randint(0, 12))
        piece = dice.choice([*TOKENS, *WORDS, text[start:end] * 2, ""])
        text = text[:start] + piece + text[dice.choice([start, end]) :]
    return text


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(SEEDS), st.integers(0, 2**32))
def test_any_manifest_gives_a_plan_or_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, seed: int
) -> None:
    """`check` ends with a report in which every mistake has a place and a message."""
    monkeypatch.chdir(DATA / "broken")
    path = tmp_path / "m.yaml"
    path.write_bytes(mutated(text, seed).replace("../", f"{DATA}/").encode("utf-8", "surrogateescape"))
    report = examine(Sources(manifests=(path,)))
    assert report.valid == (not report.mistakes)
    for place in report.mistakes:
        assert place.line >= 1
        assert place.column >= 1
        assert place.message

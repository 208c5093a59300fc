"""Feeds damaged reports to the decoders and to the examination of runs.

    python -m tests.fuzz.reports [HOW_MANY] [SEED]

The law: whatever is done to the bytes of a report, nothing is raised, and no test becomes passed that a
plain reader of JSON does not find passed in the same bytes. The unit tests run a short form of this.
"""

import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator

import msgspec

from engine.integrity import examine
from engine.reports import FORMATS, Report, ctrf, pytest_json
from engine.results import printable
from tests.data.reports.cases import CASES
from tests.data.reports.stored import stored_run

JSON, CTRF = FORMATS
LARGEST = 20_000

Mutation = Callable[[bytes, random.Random], bytes]

WORDS = (
    b"passed",
    b"failed",
    b"skipped",
    b"error",
    b"rerun",
    b"xpassed",
    b"subtests passed",
    b"outcome",
    b"status",
    b"nodeid",
    b"call",
    b"tests",
    b"results",
)
SCRAPS = (
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"null",
    b"true",
    b"{}",
    b"[]",
    b'""',
    b"\\ud800",
    b"\\udc80\\ud800",
    b"\\",
    b'"',
    b"\xff",
    b"\xed\xa0\x80",
    b"\x00",
    b"\xef\xbb\xbf",
    b",",
    b":",
    b"[[[[[[[[",
    b"9" * 400,
    b'"outcome": "passed", ',
    b'"status": "passed", ',
    b'{"nodeid": "x", "outcome": "passed"}',
)


def corpus() -> tuple[tuple[str, str, bytes], ...]:
    """The reports that real pytest wrote: case, file name and content."""
    stored = ((case.name, stored_run(case.name).reports) for case in CASES)
    return tuple(
        (case, name, data)
        for case, reports in stored
        for name, data in reports.items()
        if len(data) < LARGEST
    )


def cut_out(data: bytes, chance: random.Random) -> bytes:
    """Leave out a piece."""
    begin = chance.randrange(len(data) + 1)
    return data[:begin] + data[begin + chance.randrange(1, 60) :]


def put_in(data: bytes, chance: random.Random) -> bytes:
    """Put something in that does not belong there."""
    place = chance.randrange(len(data) + 1)
    return data[:place] + chance.choice(SCRAPS) + data[place:]


def change_byte(data: bytes, chance: random.Random) -> bytes:
    """Change one byte."""
    place = chance.randrange(len(data) + 1)
    return data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]


def double(data: bytes, chance: random.Random) -> bytes:
    """Write a piece twice."""
    begin = chance.randrange(len(data) + 1)
    piece = data[begin : begin + chance.randrange(1, 400)]
    return data[:begin] + piece + piece + data[begin + len(piece) :]


def swap_word(data: bytes, chance: random.Random) -> bytes:
    """Put one word of the format in the place of another."""
    found = [match.span() for match in re.finditer(rb'(?<=")(?:%s)(?=")' % b"|".join(WORDS), data)]
    if not found:
        return data
    begin, end = chance.choice(found)
    return data[:begin] + chance.choice(WORDS) + data[end:]


def swap_value(data: bytes, chance: random.Random) -> bytes:
    """Put something else in the place of a value."""
    found = [match.span() for match in re.finditer(rb'(?<=: )(?:"[^"]*"|[\d.e-]+|null)', data)]
    if not found:
        return data
    begin, end = chance.choice(found)
    return data[:begin] + chance.choice(SCRAPS) + data[end:]


def break_off(data: bytes, chance: random.Random) -> bytes:
    """Stop in the middle."""
    return data[: chance.randrange(len(data) + 1)]


MUTATIONS: tuple[Mutation, ...] = (
    cut_out,
    put_in,
    change_byte,
    double,
    break_off,
    # What keeps the document sound, and so gets further, more often.
    *[swap_word] * 6,
    *[swap_value] * 6,
)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Do one to three things to a report."""
    for _ in range(chance.randrange(1, 4)):
        data = chance.choice(MUTATIONS)(data, chance)
    return data


def plainly_passed(name: str, data: bytes) -> list[str]:
    """The tests that a plain reader finds passed, by what the format calls their name."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")
    text = re.sub("[\udc80-\udcff]", lambda match: f"\\\\x{ord(match[0]) - 0xDC00:02x}", text)
    try:
        document = json.loads(text, parse_int=float)
    except (ValueError, RecursionError):
        return []
    found = _json_passed if name == JSON else _ctrf_passed
    return [printable(nodeid) for nodeid in found(document)]


def _json_passed(document: object) -> Iterator[str]:
    for test in _tests(document, "tests"):
        phases = [test.get(when) for when in ("setup", "call", "teardown")]
        outcomes = [phase.get("outcome") if isinstance(phase, dict) else None for phase in phases]
        if test.get("outcome") in ("passed", "xpassed") and outcomes == ["passed"] * 3:
            yield str(test.get("nodeid"))


def _ctrf_passed(document: object) -> Iterator[str]:
    results = document.get("results") if isinstance(document, dict) else None
    for test in _tests(results, "tests"):
        if test.get("status") == "passed" and test.get("stop") != 0:
            yield str(test.get("name"))


def _tests(value: object, key: str) -> list[dict[str, object]]:
    tests = value.get(key) if isinstance(value, dict) else None
    return [test for test in tests if isinstance(test, dict)] if isinstance(tests, list) else []


def violation(name: str, data: bytes) -> str:
    """Say how the law is broken for these bytes, or nothing."""
    report = (pytest_json if name == JSON else ctrf).decode(data)
    if not isinstance(report, Report):
        return ""
    passed = [test.nodeid for test in report.tests if test.status == "passed"]
    truth = plainly_passed(name, data)
    if len(passed) > len(truth):
        return f"{len(passed)} tests passed, where {len(truth)} do"
    wrong = [nodeid for nodeid in passed if not any(nodeid.endswith(plain) for plain in truth)]
    return f"not passed in the report: {wrong}" if wrong else ""


def wrong_pass(case: str, name: str, data: bytes) -> str:
    """Say which test of a run became passed by this report, though the channel saw otherwise, or nothing."""
    run = stored_run(case)
    damaged = msgspec.structs.replace(run, reports={**run.reports, name: data})
    true = {test.nodeid for test in examine(run, None).tests if test.status == "passed"}
    wrong = {test.nodeid for test in examine(damaged, None).tests if test.status == "passed"} - true
    examine(msgspec.structs.replace(damaged, collected=None, phases=()), None, has_channel=False)
    return f"became passed: {sorted(wrong)}" if wrong else ""


def main(count: int, seed: int) -> int:
    """Try so many damaged reports; return how many broke the law."""
    chance = random.Random(seed)
    reports, broken, decoded, began = corpus(), 0, 0, time.monotonic()
    slowest = 0.0
    for number in range(count):
        case, name, data = chance.choice(reports)
        damaged = mutated(data, chance)
        started = time.monotonic()
        problem = violation(name, damaged) or (wrong_pass(case, name, damaged) if number % 100 == 0 else "")
        slowest = max(slowest, time.monotonic() - started)
        decoded += isinstance(FORMATS[name](damaged), Report)
        if problem:
            broken += 1
            print(
                f"{case}/{name}, input {number} of seed {seed}: {problem}\n  {damaged[:2000]!r}", flush=True
            )
    seconds = time.monotonic() - began
    print(
        f"{count} inputs in {seconds:.0f} s, {decoded} still read as reports, "
        f"slowest {slowest * 1000:.0f} ms, {broken} against the law"
    )
    return broken


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(bool(main(given[0] if given else 1_000_000, given[1] if len(given) > 1 else 0)))

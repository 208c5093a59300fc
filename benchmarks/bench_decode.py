"""How fast reports are read, and in how much memory, against `json` with pydantic models.

    python -m benchmarks.bench_decode [TESTS]

All get the same bytes, made in the form that the plugins write. "whole" is all of `decode`: outcomes,
durations and the messages of failures are worked out, which the other side does not do; it is what must be
five times as fast. "fields" only fills structs of the same fields as the pydantic models have, with messages
left as raw bytes. Times are CPU time, the best of several rounds in which the readers take turns, so that a
busy machine is as bad for one as for the other.
"""

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable

from pydantic import BaseModel

from engine.reports import ctrf, pytest_json

Reader = Callable[[bytes], object]

ROUNDS = 15
ENOUGH = 5.0
TRACE = "\n".join(f"E       assert line {number} of the difference" for number in range(40))


class Phase(BaseModel):
    """As `pytest_json._Phase`."""

    outcome: str
    duration: float = 0.0
    longrepr: str | None = None


class JsonTest(BaseModel):
    """As `pytest_json._Test`."""

    nodeid: str
    outcome: str
    setup: Phase | None = None
    call: Phase | None = None
    teardown: Phase | None = None


class Collector(BaseModel):
    """As `pytest_json._Collector`."""

    nodeid: str
    outcome: str
    longrepr: str | None = None


class JsonSummary(BaseModel):
    """As `pytest_json._Summary`."""

    total: int | None = None
    collected: int | None = None
    deselected: int = 0


class JsonDocument(BaseModel):
    """As `pytest_json._Content`."""

    tests: list[JsonTest]
    exitcode: int
    summary: JsonSummary = JsonSummary()
    collectors: list[Collector] = []


class CtrfTest(BaseModel):
    """As `ctrf._Test`."""

    name: str
    status: str
    rawStatus: str | None = None  # noqa: N815 (the format's own spelling)
    duration: float | None = None
    stop: int | None = None
    filePath: str | None = None  # noqa: N815
    tags: list[str] | None = None
    message: str | None = None
    trace: str | None = None


class CtrfSummary(BaseModel):
    """As `ctrf._Summary`."""

    tests: int | None = None


class CtrfResults(BaseModel):
    """As `ctrf._Results`."""

    tests: list[CtrfTest]
    summary: CtrfSummary = CtrfSummary()


class CtrfDocument(BaseModel):
    """As `ctrf._Content`."""

    results: CtrfResults


def json_report(count: int) -> bytes:
    """A file as pytest-json-report writes it; every twentieth test fails."""
    document = {
        "created": 1.7e9,
        "duration": 12.5,
        "exitcode": 1,
        "root": "/project",
        "environment": {},
        "summary": {"passed": count - count // 20, "failed": count // 20, "total": count, "collected": count},
        "collectors": [
            {
                "nodeid": "tests/test_checkpoint_1.py",
                "outcome": "passed",
                "result": [
                    {"nodeid": nodeid(number), "type": "Function", "lineno": number}
                    for number in range(count)
                ],
            }
        ],
        "tests": [json_test(number) for number in range(count)],
    }
    return json.dumps(document).encode()


def json_test(number: int) -> dict[str, object]:
    """One test with its phases."""
    passed = {"duration": 0.00012345678901234, "outcome": "passed"}
    place = {"path": "/project/tests/test_checkpoint_1.py", "lineno": number, "message": "AssertionError"}
    failed = {"duration": 0.5, "outcome": "failed", "crash": place, "traceback": [place], "longrepr": TRACE}
    fails = number % 20 == 0
    return {
        "nodeid": nodeid(number),
        "lineno": number,
        "outcome": "failed" if fails else "passed",
        "setup": passed,
        "call": failed if fails else passed,
        "teardown": passed,
    }


def ctrf_report(count: int) -> bytes:
    """A file as pytest-json-ctrf writes it; every twentieth test fails."""
    document = {
        "reportFormat": "CTRF",
        "results": {
            "tool": {"name": "pytest"},
            "summary": {"tests": count, "passed": count - count // 20, "failed": count // 20},
            "tests": [ctrf_test(number) for number in range(count)],
        },
    }
    return json.dumps(document, indent=4).encode()


def ctrf_test(number: int) -> dict[str, object]:
    """One test."""
    fails = number % 20 == 0
    test: dict[str, object] = {
        "name": nodeid(number),
        "status": "failed" if fails else "passed",
        "duration": 2,
        "start": 1794710632253,
        "stop": 1794710632255,
        "suite": ["tests/test_checkpoint_1.py"],
        "retries": 0,
        "filePath": "tests/test_checkpoint_1.py",
        "tags": ["functionality"],
        "parameters": {"case": f"case {number}"},
    }
    return test | ({"rawStatus": "call_failed", "trace": TRACE, "message": "assert"} if fails else {})


def nodeid(number: int) -> str:
    """An id of the usual length."""
    return f"tests/test_checkpoint_1.py::TestCommands::test_output[case {number}]"


def read_json(data: bytes) -> object:
    """Read a json report by json and pydantic."""
    return JsonDocument.model_validate(json.loads(data))


def read_ctrf(data: bytes) -> object:
    """Read a CTRF report by json and pydantic."""
    return CtrfDocument.model_validate(json.loads(data))


def milliseconds(readers: dict[str, Reader], data: bytes) -> dict[str, float]:
    """The CPU time of the best reading of each, in rounds in which they take turns."""
    times: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(ROUNDS):
        for name, read in readers.items():
            gc.collect()
            began = time.process_time()
            read(data)
            times[name].append((time.process_time() - began) * 1000)
    return {name: min(taken) for name, taken in times.items()}


def mebibytes(read: Reader, data: bytes) -> tuple[float, float]:
    """What a reading needs at most, and what its result keeps."""
    gc.collect()
    tracemalloc.start()
    result = read(data)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return peak / 1024**2, kept / 1024**2


def compare(title: str, data: bytes, readers: dict[str, Reader]) -> float:
    """Print a line for each reader; return how much faster the first is than the last."""
    print(f"{title}, {len(data) / 1024**2:.1f} MiB")
    times = milliseconds(readers, data)
    first, *_, last = times.values()
    for name, read in readers.items():
        peak, kept = mebibytes(read, data)
        print(f"  {name:16} {times[name]:8.1f} {peak:9.1f} {kept:9.1f} {last / times[name]:7.1f}x")
    return last / first


def main(count: int) -> int:
    """Print the table; return 1 if a whole report is not read five times as fast."""
    print(f"  {f'{count} tests':16} {'CPU ms':>8} {'peak MiB':>9} {'kept MiB':>9} {'faster':>8}")
    ratios = (
        compare(
            "pytest-json-report",
            json_report(count),
            {
                "engine, whole": pytest_json.decode,
                "engine, fields": pytest_json.DECODER.decode,
                "json + pydantic": read_json,
            },
        ),
        compare(
            "CTRF",
            ctrf_report(count),
            {
                "engine, whole": ctrf.decode,
                "engine, fields": ctrf.DECODER.decode,
                "json + pydantic": read_ctrf,
            },
        ),
    )
    return 0 if min(ratios) >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))

"""Reads the file that pytest-json-ctrf writes: one entry a test, without phases.

`name` is the whole node id; older writers put only the test's own name there, and its file beside it.
"""

import functools
import math
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from engine.reports.document import (
    Document,
    Entries,
    Report,
    ReportedTest,
    Undecodable,
    read,
    read_one_by_one,
    readable,
    text_of,
)
from engine.results import Status

T = TypeVar("T")

_STATUSES: Mapping[str, Status] = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "skipped",
    "pending": "error",
}


class _Test(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    name: str
    status: str
    raw_status: str | None = None
    duration: float | None = None
    stop: int | None = None
    file_path: str | None = None
    tags: tuple[str, ...] | None = None
    message: msgspec.Raw = msgspec.Raw()
    trace: msgspec.Raw = msgspec.Raw()


class _Summary(msgspec.Struct, frozen=True, kw_only=True):
    tests: int | None = None


class _Results(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    tests: tuple[T, ...]
    summary: _Summary = _Summary()


class _Content(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    results: _Results[T]


DECODER = msgspec.json.Decoder(_Content[_Test])
_LOOSE_DECODER = msgspec.json.Decoder(_Content[msgspec.Raw])
_TEST_DECODER = msgspec.json.Decoder(_Test)


def decode(data: bytes) -> Report | Undecodable:
    """Read a report of pytest-json-ctrf."""
    document = read(data, DECODER)
    if isinstance(document, Document):
        return _report(document, Entries(tests=tuple(map(_reported, document.content.results.tests))))
    loose = read(data, _LOOSE_DECODER)
    if isinstance(loose, Undecodable):
        return loose
    return _report(loose, read_one_by_one(loose.content.results.tests, _TEST_DECODER, _reported))


def _report(document: Document[_Content[T]], entries: Entries) -> Report:
    results = document.content.results
    return Report(
        tests=entries.tests,
        unnamed=entries.unnamed,
        warnings=document.repairs + entries.warnings + tuple(_count_warnings(results)),
    )


def _count_warnings(results: _Results[T]) -> Iterator[str]:
    total = results.summary.tests
    if total is not None and total != len(results.tests):
        yield f"its summary counts {total} tests, and it lists {len(results.tests)}"


def _reported(test: _Test) -> ReportedTest:
    duration_ms = test.duration
    if duration_ms is None or not 0.0 < duration_ms < math.inf:
        duration_ms = 0.0
    tags = _marker_names(test.tags) if test.tags else ()
    # The writer sets `stop` when the last phase ends: an interrupted test has none.
    if test.status == "passed" and test.stop != 0:
        return ReportedTest(nodeid=_nodeid(test), status="passed", duration_ms=duration_ms, tags=tags)
    return ReportedTest(
        nodeid=_nodeid(test),
        status=_status_of_failure(test),
        duration_ms=duration_ms,
        message=_message(test),
        tags=tags,
        certain=test.status in _STATUSES,
    )


@functools.lru_cache(maxsize=1024)
def _marker_names(tags: tuple[str, ...]) -> tuple[str, ...]:
    # The writer appends a marker's arguments to its name.
    return tuple(dict.fromkeys(tag.partition("::")[0] for tag in tags))


def _status_of_failure(test: _Test) -> Status:
    status = _STATUSES.get(test.status, "error")
    if status == "failed" and (test.raw_status or "").startswith(("setup_", "teardown_")):
        return "error"
    return "error" if status == "passed" else status


def _nodeid(test: _Test) -> str:
    if test.file_path and test.name.startswith(f"{test.file_path}::"):
        return test.name
    # The test comes from a base class in another file, or its name is bare. Parameters may hold "::".
    file, separator, _ = test.name.partition("[")[0].partition("::")
    if not test.file_path or (separator and file.endswith(".py")):
        return test.name
    return f"{test.file_path}::{test.name}"


def _message(test: _Test) -> str | None:
    if test.status == "passed":
        return "the test was interrupted: it has no end"
    texts = (text_of(test.message), text_of(test.trace))
    return readable(texts[0] or texts[1]) if test.status == "skipped" else readable(texts[1] or texts[0])

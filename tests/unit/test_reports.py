"""How the decoders read reports that are damaged, odd or forged."""

import json
import math
from collections.abc import Callable

import pytest

from engine.reports import FORMATS, MAX_BYTES, Report, Undecodable, ctrf, decode_all, pytest_json
from engine.results import Status

Decoder = Callable[[bytes], Report | Undecodable]
PHASE = {"outcome": "passed", "duration": 0.25}
NODEID = "tests/test_checkpoint_1.py::test_a"

both = pytest.mark.parametrize("decode", FORMATS.values(), ids=["pytest_json", "ctrf"])


def json_test(nodeid: str = NODEID, outcome: str = "passed", **changes: object) -> dict[str, object]:
    return {"nodeid": nodeid, "outcome": outcome, "setup": PHASE, "call": PHASE, "teardown": PHASE, **changes}


def json_report(*tests: object, **changes: object) -> bytes:
    return json.dumps({"exitcode": 0, "tests": tests, **changes}).encode()


def ctrf_test(name: str = NODEID, status: str = "passed", **changes: object) -> dict[str, object]:
    return {"name": name, "status": status, "duration": 750, "filePath": name.partition("::")[0], **changes}


def ctrf_report(*tests: object, **changes: object) -> bytes:
    return json.dumps({"results": {"tests": tests, **changes}}).encode()


def report(decode: Decoder, *names: str) -> bytes:
    """Write a report in the format of this decoder, in which all tests passed."""
    if decode is pytest_json.decode:
        return json_report(*map(json_test, names or (NODEID,)))
    return ctrf_report(*map(ctrf_test, names or (NODEID,)))


def read(decode: Decoder, data: bytes) -> Report:
    found = decode(data)
    assert isinstance(found, Report), found
    return found


def refused(decode: Decoder, data: bytes) -> str:
    found = decode(data)
    assert isinstance(found, Undecodable), found
    assert found.detail
    return found.reason


@both
def test_a_report_is_read(decode: Decoder) -> None:
    """A sound report gives its tests without a warning."""
    found = read(decode, report(decode))
    assert [(test.nodeid, test.status, test.duration_ms) for test in found.tests] == [(NODEID, "passed", 750)]
    assert found.warnings == ()


@both
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_file_that_breaks_off_is_truncated(decode: Decoder, share: float) -> None:
    """A writer that was killed leaves nothing that counts."""
    data = report(decode)
    assert refused(decode, data[: int(len(data) * share)]) == "truncated"


@both
def test_two_documents_in_one_file_are_invalid(decode: Decoder) -> None:
    """Two writers to one file leave no report that can be believed."""
    assert refused(decode, report(decode) * 2) == "invalid"
    assert refused(decode, report(decode) + report(decode)[7:]) == "invalid"


@both
@pytest.mark.parametrize(
    "data", [b"[]", b"{}", b"null", b"3", b'"tests"', b'{"tests": {}}', b"\x00\xff", b"PK"]
)
def test_another_document_is_invalid(decode: Decoder, data: bytes) -> None:
    """JSON of another shape, and what is no JSON, is no report."""
    assert refused(decode, data) == "invalid"


@both
def test_nesting_without_end_is_invalid(decode: Decoder) -> None:
    """A document that would exhaust the stack is refused."""
    deep = b"[" * 2_000_000
    assert refused(decode, deep) in ("invalid", "truncated")
    assert refused(decode, b'{"x": ' + deep) in ("invalid", "truncated")
    assert (
        refused(decode, b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"," + report(decode)[1:]) == "invalid"
    )


@both
def test_a_file_beyond_the_limit_is_not_decoded(decode: Decoder) -> None:
    """The size is looked at before anything else."""
    assert refused(decode, bytes(MAX_BYTES + 1)) == "too_large"


@both
def test_a_byte_order_mark_is_passed_over_with_a_warning(decode: Decoder) -> None:
    """Some tools put it there, and it changes nothing."""
    found = read(decode, b"\xef\xbb\xbf" + report(decode))
    assert [test.status for test in found.tests] == ["passed"]
    assert any("byte order mark" in warning for warning in found.warnings)


@both
@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1E+400"])
def test_numbers_that_are_not_finite_are_read_as_zero(decode: Decoder, number: bytes) -> None:
    """Python writes them though JSON has no word for them."""
    found = read(decode, report(decode).replace(b"0.25", number).replace(b"750", number))
    assert [(test.status, test.duration_ms) for test in found.tests] == [("passed", 0.0)]
    assert any("not finite" in warning for warning in found.warnings)


@both
@pytest.mark.parametrize(
    "number", [b"01e999", b"-NaN", b"+Infinity", b"Infinity.5", b"NaNa", b"1e999e9", b"--Infinity"]
)
def test_what_is_no_number_is_not_mended(decode: Decoder, number: bytes) -> None:
    """Mending never makes a document of what is none."""
    assert refused(decode, report(decode).replace(b"0.25", number).replace(b"750", number)) == "invalid"


@both
def test_words_in_text_are_not_mended(decode: Decoder) -> None:
    """Only a number is taken for a number: text that looks like one stays as it is."""
    name = r'tests/test_checkpoint_1.py::test_a[NaN, "-Infinity", \\1e999, \ud83d]'
    data = report(decode, name).replace(b"0.25", b"NaN").replace(b"750", b"NaN")
    assert [test.nodeid for test in read(decode, data).tests] == [name]


@both
def test_lone_surrogates_are_written_out_and_stay_different(decode: Decoder) -> None:
    """Ids that no file can hold can still be told apart, printed and stored."""
    names = [
        f"tests/test_checkpoint_1.py::test_a[{text}]" for text in ("\ud800", "\udc80", "😀", "\udc80\ud800")
    ]
    found = read(decode, report(decode, *names))
    assert [test.nodeid.partition("[")[2] for test in found.tests] == [
        "\\ud800]",
        "\\udc80]",
        "😀]",
        "\\udc80\\ud800]",
    ]
    assert any("surrogates" in warning for warning in found.warnings)


@both
def test_bytes_that_are_not_utf8_are_written_out(decode: Decoder) -> None:
    """An id in another encoding does not end anything."""
    found = read(decode, report(decode, "tests/t.py::test_a[XX]").replace(b"XX", b"\xff\xfe"))
    assert [test.nodeid for test in found.tests] == ["tests/t.py::test_a[\\xff\\xfe]"]
    assert any("not UTF-8" in warning for warning in found.warnings)


@both
def test_the_last_of_two_equal_keys_counts(decode: Decoder) -> None:
    """As for every reader of JSON in Python, so that nobody can be shown something else."""
    data = report(decode).replace(
        b'"outcome": "passed", "setup"', b'"outcome": "passed", "outcome": "failed", "setup"'
    )
    data = data.replace(b'"status": "passed"', b'"status": "passed", "status": "failed"')
    assert [test.status for test in read(decode, data).tests] == ["failed"]


@pytest.mark.parametrize(
    "wrong", [{"outcome": 3}, {"setup": []}, {"call": {"outcome": None}}, {"teardown": {"duration": "long"}}]
)
def test_one_unreadable_test_among_thousands_costs_only_itself(wrong: dict[str, object]) -> None:
    """The others keep their outcome, and the one is an error of which nothing is claimed."""
    tests = [json_test(f"tests/t.py::test_{number}") for number in range(3000)]
    tests[1234] |= wrong
    found = read(pytest_json.decode, json_report(*tests))
    assert [test.status for test in found.tests].count("passed") == 2999
    assert (found.tests[1234].status, found.tests[1234].certain) == ("error", False)
    assert any("test 1234" in warning for warning in found.warnings)


def test_one_unreadable_test_of_ctrf_costs_only_itself() -> None:
    """Also where the tests have no phases."""
    found = read(ctrf.decode, ctrf_report(ctrf_test(), ctrf_test("tests/t.py::test_b", tags=3)))
    assert [(test.nodeid, test.status, test.certain) for test in found.tests] == [
        (NODEID, "passed", True),
        ("tests/t.py::test_b", "error", False),
    ]


@both
def test_a_test_without_a_name_is_counted(decode: Decoder) -> None:
    """What cannot be told apart is not made up."""
    data = report(decode).replace(b"[{", b'[5, {"nodeid": 7, "name": []}, {')
    found = read(decode, data)
    assert (len(found.tests), found.unnamed) == (1, 2)


@both
def test_a_summary_that_counts_otherwise_is_warned_of(decode: Decoder) -> None:
    """A report that contradicts itself says so."""
    data = report(decode)
    data = data.replace(b'"exitcode": 0', b'"exitcode": 0, "summary": {"total": 2}')
    data = data.replace(b'"results": {', b'"results": {"summary": {"tests": 2}, ')
    assert any("counts 2 tests" in warning for warning in read(decode, data).warnings)


@pytest.mark.parametrize(
    ("changes", "status", "certain"),
    [
        ({}, "passed", True),
        ({"outcome": "xpassed"}, "passed", True),
        ({"outcome": "failed"}, "failed", True),
        ({"outcome": "error"}, "error", True),
        ({"outcome": "skipped"}, "skipped", True),
        ({"outcome": "xfailed"}, "skipped", True),
        ({"outcome": "rerun"}, "error", False),
        ({"outcome": "subtests passed"}, "error", False),
        ({"outcome": "PASSED"}, "error", False),
        ({"outcome": ""}, "error", False),
        ({"call": None}, "error", True),
        ({"teardown": None}, "error", True),
        ({"setup": None}, "error", True),
        ({"call": {"outcome": "failed"}}, "error", True),
        ({"outcome": "xpassed", "teardown": {"outcome": "failed"}}, "error", True),
    ],
)
def test_passed_needs_all_phases_of_the_json_report(
    changes: dict[str, object], status: Status, certain: bool
) -> None:
    """Only set-up, call and teardown that all passed make a pass."""
    test = read(pytest_json.decode, json_report(json_test() | changes)).tests[0]
    assert (test.status, test.certain) == (status, certain)
    assert (test.message is None) or status != "passed"


@pytest.mark.parametrize(
    ("changes", "status", "certain"),
    [
        ({}, "passed", True),
        ({"status": "failed", "rawStatus": "call_failed"}, "failed", True),
        ({"status": "failed", "rawStatus": "setup_failed"}, "error", True),
        ({"status": "failed", "rawStatus": "teardown_failed"}, "error", True),
        ({"status": "skipped"}, "skipped", True),
        ({"status": "pending"}, "error", True),
        ({"status": "other"}, "error", False),
        ({"status": "Passed"}, "error", False),
        ({"stop": 0, "start": 5, "duration": -5}, "error", True),
    ],
)
def test_statuses_of_ctrf(changes: dict[str, object], status: Status, certain: bool) -> None:
    """What is not plainly passed is not passed."""
    test = read(ctrf.decode, ctrf_report(ctrf_test() | changes)).tests[0]
    assert (test.status, test.certain) == (status, certain)


@pytest.mark.parametrize(
    ("name", "file", "nodeid"),
    [
        ("tests/a.py::test_x[b.py::c]", "tests/a.py", "tests/a.py::test_x[b.py::c]"),
        ("tests/a.py::test_x", "tests/base.py", "tests/a.py::test_x"),
        ("test_x", "tests/a.py", "tests/a.py::test_x"),
        ("test_x[b.py::c]", "tests/a.py", "tests/a.py::test_x[b.py::c]"),
        ("TestX::test_x", "tests/a.py", "tests/a.py::TestX::test_x"),
        ("test_x", None, "test_x"),
    ],
)
def test_ctrf_names_become_node_ids(name: str, file: str | None, nodeid: str) -> None:
    """Both the whole id of today's writer and the bare name of older ones are understood."""
    test = read(ctrf.decode, ctrf_report(ctrf_test(name) | {"filePath": file})).tests[0]
    assert test.nodeid == nodeid


def test_tags_are_names_of_markers() -> None:
    """The writer appends arguments, which are cut off."""
    tags = ["error", "slow::3::reason_x", "error::twice", "parametrize::a::b"]
    test = read(ctrf.decode, ctrf_report(ctrf_test(tags=tags))).tests[0]
    assert test.tags == ("error", "slow", "parametrize")


def test_durations_add_up_the_phases() -> None:
    """What set-up and teardown took belongs to the test; what cannot be is nothing."""
    phases: dict[str, object] = {
        "setup": PHASE | {"duration": 0.5},
        "call": PHASE | {"duration": 2},
        "teardown": PHASE | {"duration": -1},
    }
    test = read(pytest_json.decode, json_report(json_test() | phases)).tests[0]
    assert math.isclose(test.duration_ms, 1500)
    huge = read(pytest_json.decode, json_report(json_test(call=PHASE | {"duration": 1e308}))).tests[0]
    assert math.isfinite(huge.duration_ms)


def test_collection_errors_and_counts_are_read() -> None:
    """The json report says what could not be collected, and how much was left out."""
    collectors = [
        {"nodeid": "", "outcome": "passed", "result": []},
        {"nodeid": "tests/a.py", "outcome": "failed", "longrepr": "no module", "result": []},
    ]
    summary = {"total": 0, "collected": 5, "deselected": 2}
    found = read(pytest_json.decode, json_report(collectors=collectors, summary=summary))
    assert found.collection_errors == ("tests/a.py: no module",)
    assert found.collected == 3


@pytest.mark.parametrize("message", [None, 3, ["a"], {"b": 1}])
def test_a_message_that_is_no_text_is_left_out(message: object) -> None:
    """Only the message is lost, not the test."""
    failed = {"outcome": "failed", "longrepr": message}
    found = read(pytest_json.decode, json_report(json_test(outcome="failed", call=failed)))
    assert [(test.status, test.message) for test in found.tests] == [("failed", None)]
    found = read(ctrf.decode, ctrf_report(ctrf_test(status="failed", message=message, trace=message)))
    assert [(test.status, test.message) for test in found.tests] == [("failed", None)]


def test_absent_reports_are_missing() -> None:
    """What pytest did not write is said to be missing, and other files are not looked at."""
    found = decode_all({"ctrf-report.json": ctrf_report(), "other.json": b"{"})
    assert list(found) == ["pytest-report.json", "ctrf-report.json"]
    missing = found["pytest-report.json"]
    assert isinstance(missing, Undecodable)
    assert missing.reason == "missing"

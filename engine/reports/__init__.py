"""What pytest's report files say, read into one form.

Each module here reads one format and has `decode(data) -> Report | Undecodable`. A new format is one
such module and one row of `FORMATS`, in the order in which reports are preferred. Nothing here decides
what is believed: that is `integrity`.
"""

from collections.abc import Callable, Mapping

from engine.reports import ctrf, pytest_json
from engine.reports.document import MAX_BYTES, Report, ReportedTest, Undecodable

__all__ = ["FORMATS", "MAX_BYTES", "Report", "ReportedTest", "Undecodable", "decode_all"]

FORMATS: Mapping[str, Callable[[bytes], Report | Undecodable]] = {
    "pytest-report.json": pytest_json.decode,
    "ctrf-report.json": ctrf.decode,
}


def decode_all(files: Mapping[str, bytes]) -> dict[str, Report | Undecodable]:
    """Read every known report, saying of absent ones that they are missing."""
    missing = Undecodable(reason="missing", detail="pytest did not write it")
    return {name: decode(files[name]) if name in files else missing for name, decode in FORMATS.items()}

"""Reads what `make.py` kept, as the run that a sandbox would have returned."""

import json
from pathlib import Path

import msgspec

from engine.results import Output
from engine.sandbox import CollectedTest, End, PhaseReport, Run
from tests.data.reports.cases import MODULE

HERE = Path(__file__).parent
REPORTS = ("pytest-report.json", "ctrf-report.json")


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    exit_code: int | None
    signal: int | None
    stdout: str
    stderr: str


def stored_run(name: str) -> Run:
    """Return the run of a case."""
    folder = HERE / name
    record = msgspec.json.decode((folder / "run.json").read_bytes(), type=_Record)
    heard = [json.loads(line) for line in (folder / "channel.jsonl").read_text().splitlines()]
    collected = [value for kind, value in heard if kind == "collected"]
    return Run(
        end=End(
            exit_code=record.exit_code,
            signal=record.signal,
            limit=next((value for kind, value in heard if kind == "limit"), None),
            sealed=True,
        ),
        collected=tuple(
            CollectedTest(nodeid=nodeid, markers=tuple(markers)) for nodeid, markers in collected[0]
        )
        if collected
        else None,
        phases=tuple(msgspec.convert(value, PhaseReport) for kind, value in heard if kind == "phase"),
        reports={name: (folder / name).read_bytes() for name in REPORTS if (folder / name).exists()},
        stdout=Output(head=record.stdout.encode()),
        stderr=Output(head=record.stderr.encode()),
    )


def whole_id(short: str) -> str:
    """Complete the id of a test of the module that every case has."""
    return short if short.startswith("tests/") else f"{MODULE}::{short}"

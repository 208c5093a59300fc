"""A run as one JSON document: what happened, leaderboards by every label, and every evaluation."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from engine.events import FlakyTest, ResultLine, without_surrogates
from engine.results import SCHEMA_VERSION
from engine.views.leaderboard import Standing, key_named, label_names, standings
from engine.views.run import FinishedRun


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What the JSON form of a run has."""

    schema_version: int = SCHEMA_VERSION
    run_id: str
    name: str
    policy: str
    engine_version: str
    started: datetime | None
    ended: datetime | None
    ending: str
    remaining: int
    leaderboards: Mapping[str, tuple[Standing, ...]]
    flaky: Mapping[str, tuple[FlakyTest, ...]]
    warnings: tuple[str, ...]
    evaluations: tuple[ResultLine, ...]


def render(run: FinishedRun) -> bytes:
    """Render a run as JSON; tests are in the evaluation.json of each evaluation."""
    document = Document(
        run_id=run.run_id,
        name=run.name,
        policy=run.policy,
        engine_version=run.engine_version,
        started=run.started,
        ended=run.ended,
        ending=run.ending,
        remaining=run.remaining,
        leaderboards={name: standings(run.lines, key_named(name)) for name in label_names(run.lines)},
        flaky=run.flaky,
        warnings=tuple(warning.message for warning in run.warnings),
        evaluations=run.lines,
    )
    data = msgspec.json.encode(without_surrogates(msgspec.to_builtins(document)))
    return msgspec.json.format(data, indent=2) + b"\n"

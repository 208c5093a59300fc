"""Is what came out of a sandbox one story? The only place that decides whether a run can be judged.

It works down two tables, and the first row that fires wins: `endings.ENDINGS` knows how pytest ended,
`disagreements.DISAGREEMENTS` where the witnesses contradict each other. A new check is a row there.
"""

from collections.abc import Iterable, Iterator

import msgspec

from engine.disagreements import DISAGREEMENTS
from engine.endings import ENDINGS
from engine.evidence import Evidence
from engine.results import Broken, IntegrityWarning, ObservedTest
from engine.sandbox import Run
from engine.witnesses import gather, observed_tests


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What can be believed of a run."""

    broken: Broken | None = None
    warnings: tuple[IntegrityWarning, ...] = ()
    tests: tuple[ObservedTest, ...] = ()


def examine(
    run: Run,
    expected: Iterable[str] | None,
    *,
    has_channel: bool = True,
    imports_submission: bool = False,
) -> Examination:
    """Decide whether a run can be judged, and what each of its tests did.

    `expected` are the ids that were collected without the submission, None where that is unknown.
    """
    evidence = gather(run, expected, has_channel=has_channel, imports_submission=imports_submission)
    broken = next(filter(None, (ending(evidence) for ending in ENDINGS)), None)
    if broken is None:
        broken = next(_contradictions(evidence), None)
    return Examination(
        broken=broken,
        warnings=tuple(_warnings(evidence)) if broken is None else (),
        tests=observed_tests(evidence),
    )


def expected_ids(collections: Iterable[Run]) -> tuple[str, ...] | None:
    """Return the ids that all of these collections agree on; None where that is not known."""
    found = {_collected_ids(run) for run in collections}
    return found.pop() if len(found) == 1 else None


def _collected_ids(run: Run) -> tuple[str, ...] | None:
    complete = run.broken is None and run.end is not None and run.end.exit_code == 0 and not run.end.tampered
    return tuple(sorted(test.nodeid for test in run.collected)) if complete and run.collected else None


def _contradictions(evidence: Evidence) -> Iterator[Broken]:
    for row in DISAGREEMENTS:
        if row.kind is not None and (detail := row.find(evidence)):
            yield evidence.blame(row.kind, f"{row.name}: {detail}")


def _warnings(evidence: Evidence) -> Iterator[IntegrityWarning]:
    for row in DISAGREEMENTS:
        if row.kind is None and (detail := row.find(evidence)):
            yield IntegrityWarning(name=row.name, detail=detail)

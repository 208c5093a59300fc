"""All that is known of one run: what each witness says of each test, and how pytest ended.

The witnesses are our own channel and each report that can be read. `witnesses` gathers it, `endings` and
`disagreements` look into it, `integrity` decides.
"""

from collections.abc import Iterable, Mapping

import msgspec

from engine.reports import Report, Undecodable
from engine.reports.document import readable
from engine.results import Broken, BrokenKind, Fault, Status
from engine.sandbox import End, Run

CHANNEL = "channel"

# How many ids a message names, and how much of pytest's output.
SHOWN = 3
LAST_WORDS = 1_000

_COLLECTING = {BrokenKind.COLLECTION_ERROR, BrokenKind.NO_TESTS, BrokenKind.USAGE_ERROR}


class Testimony(msgspec.Struct, frozen=True, kw_only=True):
    """What one witness says of one test."""

    __test__ = False

    status: Status
    duration_ms: float = 0.0
    message: str | None = None
    markers: tuple[str, ...] = ()
    # False where the witness does not know the outcome.
    certain: bool = True
    # Only the channel knows these: whether the last phase was reported, and what ran more than once.
    finished: bool = True
    attempts: int = 1
    subtests: int = 0


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of one run, as the checks of `integrity` ask for it."""

    run: Run
    end: End
    # Whether results had to come over our channel: not where pytest is started by uvx.
    has_channel: bool
    # Whether the tests import the submission into pytest's own process.
    imports_submission: bool
    expected: frozenset[str] | None
    # Ids as pytest announced them, with duplicates; None if it never did.
    announced: tuple[str, ...] | None
    # By witness, the channel first, then the reports in the order in which they are preferred.
    witnesses: Mapping[str, Mapping[str, Testimony]]
    reports: Mapping[str, Report]
    unreadable: Mapping[str, Undecodable]

    @property
    def channel(self) -> Mapping[str, Testimony]:
        """What came over our own channel."""
        return self.witnesses.get(CHANNEL, {})

    @property
    def reference(self) -> Mapping[str, Testimony]:
        """The witness that the others are compared with."""
        return next(iter(self.witnesses.values()), {})

    @property
    def begun(self) -> bool:
        """Whether the submission may have been started: pytest was past collecting."""
        if self.has_channel:
            # Nothing is announced, rather than nobody, where collecting was broken off.
            return bool(self.announced)
        return any(
            report.tests or (report.collected and not report.collection_errors)
            for report in self.reports.values()
        )

    def certain(self, nodeid: str) -> dict[str, Testimony]:
        """What those who know the outcome of a test say of it, by witness."""
        said = {name: tests[nodeid] for name, tests in self.witnesses.items() if nodeid in tests}
        return {name: testimony for name, testimony in said.items() if testimony.certain}

    def status(self, nodeid: str) -> Status:
        """Return what is believed of a test: passed only if nobody who knows says otherwise."""
        said = [testimony.status for testimony in self.certain(nodeid).values()]
        if not said:
            return self.reference[nodeid].status
        return next((status for status in said if status != "passed"), "passed")

    def with_status(self, *statuses: Status) -> set[str]:
        """The tests of which one of these is believed."""
        return {nodeid for nodeid in self.reference if self.status(nodeid) in statuses}

    def collection_errors(self) -> str:
        """The errors that pytest met while it collected, or nothing."""
        return "; ".join(error for report in self.reports.values() for error in report.collection_errors)

    def unreadable_reports(self) -> str:
        """Which reports cannot be read, and why, or nothing."""
        return "; ".join(f"{name} is {why.reason}: {why.detail}" for name, why in self.unreadable.items())

    def progress(self) -> str:
        """How far pytest came, as the end of a sentence."""
        if self.announced is None:
            return ""
        done = sum(test.finished for test in self.channel.values())
        running = some(nodeid for nodeid, test in self.channel.items() if not test.finished)
        return f", with {done} of {len(self.announced)} tests done" + (
            f", during {running}" if running else ""
        )

    def last_words(self) -> str:
        """The end of what pytest printed, as the end of a sentence."""
        outputs = (self.run.stderr, self.run.stdout)
        texts = (readable(output.text()[-LAST_WORDS:]) for output in outputs)
        return next((f"; its last words:\n{text}" for text in texts if text), "")

    def exhausted(self) -> tuple[BrokenKind, str] | None:
        """Which resource of the sandbox ran out, the one that explains most first."""
        if self.end.oom_kills:
            return BrokenKind.OUT_OF_MEMORY, f"processes killed for lack of memory: {self.end.oom_kills}"
        if self.end.disk_full:
            return BrokenKind.OUT_OF_DISK, "the disk of the sandbox is full"
        if self.end.pids_exhausted:
            return BrokenKind.OUT_OF_PIDS, "the limit of processes was reached"
        return None

    def blame(self, kind: BrokenKind, detail: str) -> Broken:
        """Blame by the table of faults, but for what only happens when this submission is there."""
        fine_without_it = self.expected is not None or self.imports_submission
        if kind in _COLLECTING and fine_without_it:
            return Broken(kind=kind, fault=Fault.SUBMISSION, detail=f"{detail} (only with this submission)")
        if kind is BrokenKind.INTERNAL_ERROR and self.begun:
            return Broken(kind=kind, fault=Fault.SUBMISSION, detail=f"{detail} (after tests had begun)")
        return Broken.of(kind, detail)


def some(ids: Iterable[str], what: str = "") -> str:
    """Name the first few of these and say what is the matter with them; nothing if there are none."""
    names = sorted(ids)
    if not names:
        return ""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more} {what}".rstrip()

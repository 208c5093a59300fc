"""What people see while a batch runs: plain lines on standard error."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from engine.evaluation import Evaluation
from engine.events import AdmissionChanged, EvaluationFinished, EvaluationRetried, Event, RunDraining, WarningGiven
from engine.results import Verdict
from engine.sandbox import Progress

COLOURS = {Verdict.PASSED: "green", Verdict.FAILED: "red", Verdict.BROKEN: "yellow"}


class PlainProgress:
    """One line for each thing that a person wants to know."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._finished = 0

    def on_progress(self, evaluation: Evaluation, progress: Progress) -> None:
        """Glimpses of running evaluations are not worth a line."""

    async def write(self, events: Sequence[Event]) -> bool:
        """Print what is worth a line."""
        for event in events:
            line = self._line(event)
            if line:
                self._console.print(line, highlight=False, soft_wrap=True)
        return True

    async def aclose(self) -> None:
        """Nothing to let go of."""

    def _line(self, event: Event) -> str:
        match event:
            case EvaluationFinished():
                return self._finished_line(event)
            case EvaluationRetried():
                reason = escape(_first_line(event.broken.detail)) if event.broken else ""
                return f"[yellow]again[/]   {event.evaluation_id}: {reason}"
            case WarningGiven():
                return f"[yellow]warning[/] {escape(event.message)}"
            case RunDraining():
                return f"[yellow]stopping[/]: {event.running} still running; {event.hint}"
            case AdmissionChanged() if event.reason:
                return f"[dim]{event.concurrency} of {event.limit} at once: {escape(event.reason)}[/]"
            case _:
                return ""

    def _finished_line(self, event: EvaluationFinished) -> str:
        result = event.result
        self._finished += 1
        colour = COLOURS[result.verdict]
        passed, total = sum(result.pass_counts.values()), sum(result.total_counts.values())
        detail = f"{passed}/{total} tests, {result.duration:.1f} s{', cached' if result.cached else ''}"
        if result.broken is not None:
            detail = f"{result.broken.kind} ({result.broken.fault}): {_first_line(result.broken.detail)}"
        name = " ".join((result.problem_name, result.checkpoint_name, *result.labels.values()))
        return f"[dim]{self._finished:>4}[/] [{colour}]{result.verdict:<6}[/] {escape(name)}: {escape(detail)}"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:200]

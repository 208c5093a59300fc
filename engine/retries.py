"""When an attempt is worth repeating: decisions as values, made by pure functions.

The scheduler carries them out and knows no kinds; the kinds are known here. Another kind that is worth
repeating is one member of `RETRYABLE` or `STARVABLE`.
"""

from typing import Literal

import msgspec

from engine.results import Broken, BrokenKind, Fault

# Infrastructure kinds that another attempt cannot mend, or that are the user's own wish.
_FINAL = frozenset({BrokenKind.NO_PYTHON, BrokenKind.INTERRUPTED, BrokenKind.BATCH_TIMEOUT})
RETRYABLE = frozenset(
    kind for kind in BrokenKind if Broken.of(kind, "").fault is Fault.INFRASTRUCTURE and kind not in _FINAL
)
# Time limits that a crowded machine can be to blame for.
STARVABLE = frozenset({BrokenKind.SETUP_TIMEOUT, BrokenKind.SESSION_TIMEOUT, BrokenKind.EVALUATION_TIMEOUT})


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """Try again after a while."""

    delay: float = 0.0
    # False where the attempt never had a chance, as when the daemon did not answer.
    counted: bool = True


class Alone(msgspec.Struct, frozen=True, kw_only=True):
    """Try once more at the end, with the machine to itself."""


class RetrySettings(msgspec.Struct, frozen=True, kw_only=True):
    """How often to try again, and how long to wait before."""

    infrastructure: int = 2
    timeouts: Literal["alone", "never"] = "alone"
    base: float = 1.0
    cap: float = 60.0


def backoff(attempt: int, settings: RetrySettings, spread: float) -> float:
    """Tell how long to wait after the given attempt; `spread`, from 0 to 1, keeps crowds apart."""
    longest = min(settings.cap, settings.base * 2.0 ** min(attempt - 1, 30))
    return longest * (0.5 + 0.5 * spread)


def decide(
    settings: RetrySettings, broken: Broken | None, *, attempt: int, starved: bool, spread: float
) -> Retry | Alone | None:
    """Decide what follows an attempt, of which `attempt` have counted so far; None means it is final."""
    if broken is None:
        return None
    if broken.kind in STARVABLE and starved and settings.timeouts == "alone":
        return Alone()
    ours = broken.kind in RETRYABLE or (broken.kind in STARVABLE and broken.fault is Fault.INFRASTRUCTURE)
    if ours and attempt <= settings.infrastructure:
        return Retry(delay=backoff(attempt, settings, spread))
    return None

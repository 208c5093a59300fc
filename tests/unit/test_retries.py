import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.results import FAULTS, Broken, BrokenKind, Fault
from engine.retries import RETRYABLE, Alone, Retry, RetrySettings, backoff, decide

SETTINGS = RetrySettings()


@pytest.mark.parametrize("kind", BrokenKind)
@pytest.mark.parametrize("starved", [True, False])
def test_only_infrastructure_and_starved_timeouts_are_repeated(kind: BrokenKind, starved: bool) -> None:
    """What the submission or the problem did is final, except a time limit that the crowd is to blame for."""
    decision = decide(SETTINGS, Broken.of(kind, ""), attempt=1, starved=starved, spread=0.0)
    timeout = kind.value.endswith("_timeout") and kind is not BrokenKind.BATCH_TIMEOUT
    if timeout and starved:
        assert decision == Alone()
    elif kind in RETRYABLE:
        assert isinstance(decision, Retry)
        assert FAULTS[kind] is Fault.INFRASTRUCTURE
    else:
        assert decision is None


def test_a_verdict_is_final() -> None:
    """An evaluation that was judged is never repeated, passed or failed."""
    assert decide(SETTINGS, None, attempt=1, starved=True, spread=0.0) is None


def test_retries_are_used_up() -> None:
    """After as many retries as the settings allow, broken is final."""
    broken = Broken.of(BrokenKind.DAEMON_ERROR, "")
    decisions = [decide(SETTINGS, broken, attempt=n, starved=False, spread=0.0) for n in (1, 2, 3)]
    assert [decision is not None for decision in decisions] == [True, True, False]


def test_timeouts_can_be_left_alone() -> None:
    """With `timeouts: never` a starved evaluation keeps its result."""
    settings = RetrySettings(timeouts="never")
    broken = Broken.of(BrokenKind.SESSION_TIMEOUT, "")
    assert decide(settings, broken, attempt=1, starved=True, spread=0.0) is None


@pytest.mark.parametrize("kind", [BrokenKind.INTERRUPTED, BrokenKind.BATCH_TIMEOUT])
def test_what_the_user_ended_is_not_repeated(kind: BrokenKind) -> None:
    """An interrupted evaluation waits for a resume and not for a retry."""
    assert decide(SETTINGS, Broken.of(kind, ""), attempt=1, starved=False, spread=0.0) is None


@given(attempt=st.integers(1, 10_000), spread=st.floats(0, 1))
def test_waits_double_up_to_a_cap_and_spread(attempt: int, spread: float) -> None:
    """Each wait is between half and all of a time that doubles and is capped."""
    longest = min(SETTINGS.cap, 2.0 ** min(attempt - 1, 30))
    assert longest / 2 <= backoff(attempt, SETTINGS, spread) <= longest

import msgspec
import pytest

from engine.errors import UserError
from engine.events import PlanCompleted, PlanExtended
from engine.journal import JournalState
from engine.resume import PlanDifference, PlanRecorder, plan_difference, refuse_changed_plan


class Item(msgspec.Struct, frozen=True):
    id: str


STATE = JournalState(run_id="r", plan_hash="h", planned=("a", "b", "c"), plan_complete=True)


def test_the_same_plan_is_accepted() -> None:
    """A plan with the same evaluations in any order goes on."""
    refuse_changed_plan(STATE, ["c", "a", "b"], "h")
    assert plan_difference(STATE, ["a", "b", "c"], None) is None


def test_a_changed_plan_is_refused_with_the_difference() -> None:
    """A plan with other evaluations is refused, and the message lists them and the way out."""
    with pytest.raises(UserError) as caught:
        refuse_changed_plan(STATE, ["a", "b", "d"], "h")
    assert str(caught.value).splitlines()[1:3] == ["+ d", "- c"]
    assert "--force" in str(caught.value)


def test_changed_settings_are_a_difference() -> None:
    """The same evaluations under other settings are another plan."""
    assert plan_difference(STATE, ["a", "b", "c"], "other") == PlanDifference(settings=True)


def test_an_incomplete_plan_is_compared_as_far_as_it_goes() -> None:
    """A run that died while its plan was expanded accepts what follows, but misses nothing it knew."""
    state = msgspec.structs.replace(STATE, plan_complete=False)
    assert plan_difference(state, ["a", "b", "c", "d"], "h") is None
    assert plan_difference(state, ["a", "b", "d"], "h") == PlanDifference(removed=("c",))


def test_long_differences_are_cut() -> None:
    """A difference of thousands shows the first ones and how many more there are."""
    difference = plan_difference(STATE, ["a", "b", "c", *(f"n{n}" for n in range(5000))], "h")
    assert difference is not None
    assert difference.describe().splitlines()[-1] == "+ ... and 4990 more"


def test_a_plan_is_recorded_while_it_is_read() -> None:
    """Ids are noted as items pass, in order, and the end is told once."""
    recorder = PlanRecorder("r")
    passing = recorder.through([Item("a"), Item("b"), Item("c")])
    assert [next(passing).id, next(passing).id] == ["a", "b"]
    assert [event.ids for event in recorder.take() if isinstance(event, PlanExtended)] == [("a", "b")]
    assert [item.id for item in passing] == ["c"]
    extended, completed = recorder.take()
    assert isinstance(extended, PlanExtended)
    assert extended.ids == ("c",)
    assert isinstance(completed, PlanCompleted)
    assert completed.total == 3
    assert recorder.take() == ()

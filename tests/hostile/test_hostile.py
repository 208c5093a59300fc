"""Submissions that cheat or attack, each beside an honest neighbour, on a real Docker Engine."""

from pathlib import Path

import anyio
import pytest

from engine.results import BrokenKind, Fault, Verdict
from engine.sandbox.choice import open_sandbox
from tests.hostile.arena import Arena, Bout, fight, workshop_in
from tests.hostile.collection import Case, load_all

pytestmark = pytest.mark.docker


def _parameter(case: Case) -> object:
    marks = [pytest.mark.xfail(reason=case.open_hole)] if case.open_hole else []
    return pytest.param(case, id=case.name, marks=marks)


CASES = [_parameter(case) for case in load_all()]


async def _run_alone(case: Case, image: str, folder: Path) -> Bout:
    submission = case.assemble(folder / "submission")
    async with open_sandbox("docker") as sandbox:
        return await fight(case, submission, image, workshop_in(folder, sandbox))


def _accepted(case: Case) -> set[BrokenKind]:
    """A time limit may interrupt pytest in its own code, which then calls that an internal error."""
    late = {BrokenKind.SESSION_TIMEOUT, BrokenKind.EVALUATION_TIMEOUT}
    kinds = set(case.expect.kinds)
    return kinds | {BrokenKind.INTERNAL_ERROR} if kinds & late else kinds


@pytest.mark.parametrize("case", CASES)
def test_the_verdict_is_what_an_honest_grader_gives(
    arena: Arena, case: Case, request: pytest.FixtureRequest, image: str, tmp_path: Path
) -> None:
    """The submission gets what it deserves, and nothing that is hidden comes out."""
    bout = arena.bout(case)
    # A pass that was not earned is never excused; other ends may depend on how crowded the machine is.
    assert bout.verdict is not Verdict.PASSED or bout.verdict in case.expect.verdicts, bout.story()
    if getattr(request.node, "execution_count", 1) > 1:
        bout = anyio.run(_run_alone, case, image, tmp_path)
    assert bout.verdict in case.expect.verdicts, bout.story()
    if bout.broken is not None:
        assert bout.broken.fault is Fault.SUBMISSION, bout.story()
        assert not case.expect.kinds or bout.broken.kind in _accepted(case), bout.story()
    if case.expect.warning is not None:
        assert case.expect.warning in bout.warnings, bout.story()
    assert bout.leaked() == []
    assert bout.spoils() == "", bout.story()


@pytest.mark.parametrize("case", load_all(), ids=lambda case: case.name)
def test_honest_neighbours_are_not_disturbed(arena: Arena, case: Case) -> None:
    """Whoever ran at the same time passed every test."""
    bout = arena.bout(case)
    neighbours = arena.neighbours_of(bout)
    for neighbour in neighbours:
        assert neighbour.verdict is Verdict.PASSED, neighbour.story()
        assert all(test.status == "passed" for test in neighbour.evaluated.results.tests), neighbour.story()
        assert neighbour.evaluated.results.environment.sealed
    if bout.evaluated.results.tests:
        assert neighbours

"""What the hostile cases win against a runner in the seeds' way: without this they would prove nothing."""

from pathlib import Path

import pytest

from engine.environment import EnvironmentSpec
from engine.prepare import wanted_toolchain
from engine.runner import Workshop
from engine.sandbox import Prepared
from engine.sandbox.choice import open_sandbox
from tests.hostile.collection import Case, honest, load_all
from tests.hostile.plain_runner import run_plainly

pytestmark = pytest.mark.docker
WINNERS = [case for case in load_all() if case.wins_against_plain]
OTHERS = [case for case in load_all() if not case.wins_against_plain]


@pytest.fixture
async def toolchain(anyio_backend: str, image: str) -> str:
    """The volume with pytest, prepared as for any evaluation."""
    async with open_sandbox("docker") as sandbox:
        workshop = Workshop.of(sandbox)
        digest = await sandbox.image_digest(image, lambda _: None)
        assert isinstance(digest, str)
        made = await workshop.preparer.get(wanted_toolchain(EnvironmentSpec(image=image), digest, ()))
    assert isinstance(made, Prepared)
    return f"scbench-toolchain-{made.key[:32]}"


def test_an_honest_submission_passes_in_docker(image: str, toolchain: str, tmp_path: Path) -> None:
    """The plain runner is a runner."""
    run = run_plainly(honest(), image, toolchain, tmp_path / "plain")
    assert (run.outcome, run.spoils, run.hung) == ("passed", "", False), run.output


@pytest.mark.parametrize("case", WINNERS, ids=lambda case: case.name)
def test_the_case_wins_against_a_plain_runner(case: Case, image: str, toolchain: str, tmp_path: Path) -> None:
    """It gets what it wants where tests and reports lie in the workspace."""
    run = run_plainly(case, image, toolchain, tmp_path / "plain")
    assert run.gained(case.gains), f"{run.outcome}, hung: {run.hung}\n{run.spoils}\n{run.output}"


@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case.name)
def test_whoever_cannot_win_says_why(case: Case) -> None:
    """There is a reason where a win cannot be shown."""
    assert case.plain.startswith("cannot be shown: ")

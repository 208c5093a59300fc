"""Every defence is needed: with one of them switched off, a hostile case gets something that it must not."""

import json
import secrets
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec
import pytest

from engine.environment import Limits
from engine.results import Fault, Verdict
from engine.sandbox import containers, wire
from engine.sandbox.choice import open_sandbox
from engine.sandbox.launch import Identity
from tests.hostile.arena import Bout, fight, workshop_in
from tests.hostile.collection import CASES, Case, demanding, load

pytestmark = pytest.mark.docker
SHORT = Limits(test=3.0, session=6.0, setup=60.0, evaluation=20.0)


class Mutation(msgspec.Struct, frozen=True, kw_only=True):
    """One defence switched off in what runs inside the container, and the case that then is not stopped."""

    name: str
    # (module, text, replacement); the text occurs exactly once, or the defence is no longer where it was.
    changes: tuple[tuple[str, str, str], ...]
    case: str
    limits: Limits | None = None


MUTATIONS = (
    Mutation(
        name="seal",
        case="read_modules_beside_handed_data",
        changes=(
            (
                "identity",
                "    os.setresgid(gid, gid, grader_gid)\n",
                "    os.setresgid(grader_gid, grader_gid, grader_gid)\n",
            ),
            ("identity", "    if _child_can_read(canary):\n", "    if False:\n"),
        ),
    ),
    Mutation(
        name="audit hook",
        case="link_beside_handed_data",
        changes=(
            ("grader", "        elif event in self.EVENTS and", "        elif False and"),
            ("grader", "        deputy.look_again_after_opening()\n", ""),
        ),
    ),
    Mutation(
        name="links into proc",
        case="link_to_the_channel",
        changes=(("grader", 'if real.startswith("/proc/") and', "if False and"),),
    ),
    Mutation(
        name="pytest variables",
        case="current_test",
        changes=(("grader", "    keep_current_test_secret()\n", ""),),
    ),
    Mutation(
        name="unlisted folder of tests",
        case="read_expected",
        changes=(("laying", 'os.chmod(layout["scratch"], 0o711)', 'os.chmod(layout["scratch"], 0o755)'),),
    ),
    Mutation(
        name="hidden modules",
        case="read_tests",
        changes=(
            ("laying", 'os.chmod(layout["scratch"], 0o711)', 'os.chmod(layout["scratch"], 0o755)'),
            (
                "laying",
                'if not job["isolate"] or not job["sealed"]:\n        return\n    tests',
                "if True:\n        return\n    tests",
            ),
        ),
    ),
    Mutation(
        name="continuing a stopped grader",
        case="stop_the_grader",
        changes=(("watch", "            os.kill(self.pid, signal.SIGCONT)\n", ""),),
        limits=SHORT,
    ),
    Mutation(
        name="forged words",
        case="imported_excuse",
        changes=(("watch", 'if self.sealed or not self.job["sealed"]:', "if False:"),),
    ),
    Mutation(
        name="clearing the record",
        case="setup_record_elsewhere",
        changes=(
            ("prepare", "        files.clear(folder)", "        pass"),
            ("prepare", "os.makedirs(folder)\n", "os.makedirs(folder, exist_ok=True)\n"),
        ),
    ),
    Mutation(
        name="blame for what cannot be kept",
        case="setup_unreadable",
        changes=(
            (
                "prepare",
                '    return CommandFailed("keep what was made", "refused", reason)',
                "    return RuntimeError(reason)",
            ),
        ),
    ),
    Mutation(
        name="blame for what does not fit",
        case="rounded_up",
        changes=(("laying", "        raise refused\n", "        raise RuntimeError(refused)\n"),),
    ),
    Mutation(
        name="replacing folders",
        case="setup_changes_shape",
        changes=(("files", "        shutil.rmtree(path)\n", "        pass\n"),),
    ),
)


def mutated(mutation: Mutation) -> bytes:
    """Return the launcher's modules with a defence switched off."""
    data = wire.bundle()
    sources = dict(json.loads(zlib.decompress(data[4:])))
    for module, text, replacement in mutation.changes:
        assert sources[module].count(text) == 1, f"{mutation.name}: {module} has changed"
        sources[module] = sources[module].replace(text, replacement)
    packed = zlib.compress(json.dumps(list(sources.items())).encode())
    return struct.pack(">I", len(packed)) + packed


def gets_away(case: Case, bout: Bout) -> bool:
    """Whether the test of the case would go red."""
    broken = bout.broken
    return (
        bout.verdict not in case.expect.verdicts
        or (broken is not None and broken.fault is not Fault.SUBMISSION)
        or (broken is not None and bool(case.expect.kinds) and broken.kind not in case.expect.kinds)
        or bout.spoils() != ""
        or bout.leaked() != []
    )


async def run_alone(case: Case, image: str, folder: Path) -> Bout:
    """Run one case in a sandbox of its own."""
    run = secrets.token_hex(8)
    submission = await anyio.to_thread.run_sync(case.assemble, folder / "submission")
    # Otherwise what an unchanged launcher has prepared for the same files would be used.
    (submission / "unique.txt").write_text(run)
    try:
        async with open_sandbox("docker", run) as sandbox:
            return await fight(case, submission, image, workshop_in(folder, sandbox))
    finally:
        await anyio.to_thread.run_sync(remove_environments, run)


def remove_environments(run: str) -> None:
    """Remove what a run of this test has prepared, and nothing of anybody else."""
    labels = ("--filter", f"label=scbench.run={run}", "--filter", "label=scbench.kind=environment")
    found = subprocess.run(
        ["docker", "volume", "ls", "-q", *labels], capture_output=True, text=True, check=True
    )
    for volume in found.stdout.split():
        subprocess.run(["docker", "volume", "rm", volume], capture_output=True, check=False)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
async def test_without_the_defence_a_case_gets_away(
    mutation: Mutation, image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the defence switched off, the test of a hostile case goes red."""
    changed = mutated(mutation)
    monkeypatch.setattr(wire, "bundle", lambda: changed)
    case = load(CASES / mutation.case)
    if mutation.limits is not None:
        case = msgspec.structs.replace(case, limits=mutation.limits)
    bout = await run_alone(case, image, tmp_path)
    assert gets_away(case, bout), bout.story()


async def test_without_isolated_python_the_grader_loads_modules_of_the_workspace(
    image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Python that is not started with -I falls for a package called like a dependency."""
    monkeypatch.setattr(containers, "launcher_command", _without(wire.launcher_command, "-I"))
    case = load(CASES / "package_called_like_a_dependency")
    bout = await run_alone(case, image, tmp_path)
    assert bout.verdict is Verdict.PASSED, bout.story()


def _without(command: Callable[[str], list[str]], option: str) -> Callable[[str], list[str]]:
    return lambda python: [word for word in command(python) if word != option]


async def test_a_probe_tells_when_the_seal_does_not_hold(
    image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where children keep the grader's group, nothing is judged, and it is nobody's fault but ours."""
    seal = next(mutation for mutation in MUTATIONS if mutation.name == "seal")
    changed = mutated(msgspec.structs.replace(seal, changes=seal.changes[:1]))
    monkeypatch.setattr(wire, "bundle", lambda: changed)
    bout = await run_alone(demanding(), image, tmp_path)
    assert bout.broken is not None
    assert bout.broken.fault is Fault.INFRASTRUCTURE
    assert bout.verdict is Verdict.BROKEN


async def test_with_one_user_for_all_a_neighbour_is_starved(
    image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the kernel counts by user is shared by containers that share a uid."""
    from engine.sandbox import docker

    def same(**given: object) -> Identity:
        return Identity(isolate=True, uid=4_000_000, gid=4_000_000, grader_gid=6_000_000)

    monkeypatch.setattr(docker, "Identity", same)
    hog = load(CASES / "inotify_hog")
    neighbours: list[Bout] = []
    async with open_sandbox("docker") as sandbox:
        workshop = workshop_in(tmp_path, sandbox)
        control = demanding().assemble(tmp_path / "neighbour")
        attacker = hog.assemble(tmp_path / "hog")

        async def attack() -> None:
            for _ in range(4):
                await fight(hog, attacker, image, workshop)

        async def live_beside() -> None:
            neighbours.extend([await fight(demanding(), control, image, workshop) for _ in range(4)])

        await fight(demanding(), control, image, workshop)
        async with anyio.create_task_group() as group:
            group.start_soon(attack)
            group.start_soon(live_beside)
    assert any("no inotify instance" in bout.said() for bout in neighbours)

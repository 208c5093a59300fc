"""What is prepared needs no network: a batch runs to its end while no package index can be reached."""

from pathlib import Path

import pytest

from engine.batch import Batch
from engine.manifest import load_manifests
from engine.results import BrokenKind
from tests.docker.tiny import Line, read_lines, write_batch, write_files

pytestmark = pytest.mark.docker

IMPORTS = "import iniconfig\nprint('hello')\n"
NOWHERE = "http://127.0.0.1:1"


async def run(manifest: Path) -> dict[str, Line]:
    """Run a manifest and return its results by model."""
    batch = Batch(load_manifests([manifest]))
    await batch.run()
    return read_lines(batch.directory.results)


def write(folder: Path, image: str, requirements: str = "iniconfig==2.0.0\n", **environment: object) -> Path:
    """Write a batch of two submissions with requirements of their own."""
    setup = [{"run": "uv pip install -r requirements.txt", "inputs": ["requirements.txt"]}]
    manifest = write_batch(
        folder,
        image,
        {"one": IMPORTS, "two": IMPORTS + "# another\n"},
        environment={"image": image, "setup": setup, **environment},
        retries={"infrastructure": 0},
        concurrency=2,
    )
    for name in ("one", "two"):
        write_files(folder / "samples" / name, {"requirements.txt": requirements})
    return manifest


def cut(patch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let every index and proxy lead nowhere, and forget all results and records."""
    for name in ("UV_DEFAULT_INDEX", "PIP_INDEX_URL"):
        patch.setenv(name, f"{NOWHERE}/simple")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        patch.setenv(name, NOWHERE)
    patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("forgotten")))


async def test_prepared_batch_runs_offline(
    anyio_backend: str,
    image: str,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A batch that was prepared before runs again with no index; one that was not says what it lacks."""
    manifest = write(tmp_path / "before", image)
    before = await run(manifest)
    assert {name: line.verdict for name, line in before.items()} == {"one": "passed", "two": "passed"}

    cut(monkeypatch, tmp_path_factory)
    after = await run(manifest)
    assert {name: (line.verdict, line.cached) for name, line in after.items()} == {
        "one": ("passed", False),
        "two": ("passed", False),
    }

    # The control: the network really is cut.
    fresh = await run(write(tmp_path / "fresh", image, f"iniconfig==2.0.0 # {tmp_path}\n"))
    assert {line.verdict for line in fresh.values()} == {"broken"}


async def test_uvx_without_an_index(
    anyio_backend: str,
    image: str,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Mode uvx needs the index each time, and says so when there is none."""
    manifest = write(tmp_path, image, mode="uvx")
    before = await run(manifest)
    assert {name: line.verdict for name, line in before.items()} == {"one": "passed", "two": "passed"}

    cut(monkeypatch, tmp_path_factory)
    for line in (await run(manifest)).values():
        assert line.broken is not None
        assert line.broken.kind is BrokenKind.TOOLCHAIN_UNRESOLVABLE

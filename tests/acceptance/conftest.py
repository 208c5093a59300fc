"""Runs of the real command that several tests look at."""

from pathlib import Path

import pytest

from tests.acceptance.command import ROOT, scbench


class Finished:
    """What a run of the command has left."""

    def __init__(self, code: int, stdout: str, stderr: str, folder: Path) -> None:
        self.code = code
        self.stdout = stdout
        self.stderr = stderr
        self.folder = folder


def run_once(name: str, image: str, cache: Path, folder: Path, *arguments: str | Path) -> Finished:
    """Run manifests in folders of their own."""
    done = scbench(
        *("run", *arguments, "--output", folder, "--run-id", name, "--jsonl", "-"),
        cwd=folder,
        SCBENCH_IMAGE=image,
        XDG_STATE_HOME=str(folder / "state"),
        XDG_CACHE_HOME=str(cache),
    )
    return Finished(done.returncode, done.stdout, done.stderr, folder / name)


@pytest.fixture(scope="session")
def quickstart(image: str, shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The quickstart, run once."""
    folder = tmp_path_factory.mktemp("quickstart")
    return run_once("quickstart", image, shared_cache, folder, ROOT / "manifests" / "quickstart.yaml")

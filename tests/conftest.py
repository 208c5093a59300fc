"""What all tests share: folders of their own, and the image that containers are made from."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def image() -> str:
    """The name of an image with Python, made where there is none."""
    return os.environ.get("SCBENCH_IMAGE") or _image_named()


@pytest.fixture(scope="session")
def image_without_python() -> str:
    """The name of an image with a shell and nothing else."""
    return _image_named("--empty")


def _image_named(*arguments: str) -> str:
    told = subprocess.run(
        [ROOT / ".ci" / "test-image", *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    return told.stdout.strip()


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of all tests of a session, so that what can be made once is made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_folders(
    tmp_path_factory: pytest.TempPathFactory, shared_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Give every test a store of its own, so that no result of another is its answer."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared_cache))

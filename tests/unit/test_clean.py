import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from engine import owner
from engine.cli.clean import clean, spoken_age
from engine.paths import cache_folder, state_folder
from engine.results import CorrectnessResults
from engine.store import Store, StoreKey

DAY = 86400.0


@pytest.fixture(autouse=True)
def only_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, and no daemon, which cleaning must do without."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")


def prepared(name: str, days: float) -> Path:
    """Make something that an earlier run prepared."""
    folder = cache_folder() / "local" / name
    folder.mkdir(parents=True)
    (folder / "record.json").write_text("{}")
    os.utime(folder / "record.json", (time.time() - days * DAY,) * 2)
    return folder


def run_folder(name: str, who: str) -> Path:
    """Make the folder of an evaluation of somebody."""
    folder = cache_folder() / "local" / "runs" / name
    folder.mkdir(parents=True)
    (folder / "owner").write_text(who)
    return folder


def stored() -> Store:
    """Make a store with one result."""
    store = Store(state_folder() / "results")
    results = CorrectnessResults(problem_name="p", checkpoint_name="c", duration=1.0)
    store.put(StoreKey(fingerprint="f"), results)
    return store


def cleaned(*arguments: str) -> str:
    result = CliRunner().invoke(clean, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_only_leftovers_of_the_dead_go(tmp_path: Path) -> None:
    """Without options nothing goes but what dead runs left, and what is kept is told by kind and age."""
    dead = run_folder("dead", owner.current().replace(f"/{os.getpid()}/", "/999999999/"))
    alive = run_folder("alive", owner.current())
    toolchain = prepared("toolchain-a", 3)
    prepared("environment-a", 1.1)
    prepared("environment-b", 40)
    stored()
    told = cleaned()
    assert not dead.exists()
    assert alive.exists()
    assert toolchain.exists()
    assert "removed 1 folders of dead runs (local)" in told
    assert "kept: 2 environments made 1d to 40d ago, 1 toolchain made 3d ago (local)" in told
    assert "kept: 1 stored results" in told
    assert "no Docker daemon answers" in told


def test_a_dry_run_only_tells() -> None:
    """`--dry-run` says the same and removes nothing."""
    folder = prepared("toolchain-a", 3)
    store = stored()
    told = cleaned("--prepared", "--results", "--dry-run", "--verbose")
    assert "would remove 1 toolchain made 3d ago (local)\n  toolchain toolchain-a, made 3d ago" in told
    assert "would remove 1 stored results" in told
    assert folder.exists()
    assert store.get(StoreKey(fingerprint="f")) is not None


def test_age_decides() -> None:
    """With `--older-than` younger things stay."""
    old, young = prepared("environment-a", 40), prepared("environment-b", 10)
    store = stored()
    told = cleaned("--prepared", "--results", "--older-than", "30d")
    assert "removed 1 environment made 40d ago (local)" in told
    assert "removed 0 stored results" in told
    assert (old.exists(), young.exists()) == (False, True)
    assert store.get(StoreKey(fingerprint="f")) is not None


def test_what_a_living_run_may_use_stays() -> None:
    """While something runs here, prepared folders are in use."""
    folder = prepared("toolchain-a", 3)
    run_folder("alive", owner.current())
    assert "kept: 1 that are in use (local)" in cleaned("--prepared")
    assert folder.exists()


def test_what_is_not_ours_stays() -> None:
    """Other files in the same cache are not looked at."""
    other = cache_folder() / "local" / "somebody-else"
    other.mkdir(parents=True)
    (cache_folder() / "hashes.sqlite").touch()
    cleaned("--prepared", "--results")
    assert other.exists()
    assert (cache_folder() / "hashes.sqlite").exists()


@pytest.mark.parametrize("age", ["soon", "-1d", ""])
def test_an_age_that_is_none_is_refused(age: str) -> None:
    """The mistake is named, with an example."""
    result = CliRunner().invoke(clean, ["--older-than", age])
    assert "say a duration such as 12h or 30d" in str(result.exception)


@pytest.mark.parametrize(("age", "told"), [(5, "5s"), (7200, "2h00m"), (3 * DAY, "3d")])
def test_ages_are_short(age: float, told: str) -> None:
    """An age is said in its largest unit."""
    assert spoken_age(age) == told

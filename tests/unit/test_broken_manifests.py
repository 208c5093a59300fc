"""Every manifest in tests/data/manifests/broken gives exactly the message that stands beside it."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from engine.cli.check import check

FOLDER = Path(__file__).parents[1] / "data" / "manifests" / "broken"
BROKEN = sorted(path for path in FOLDER.iterdir() if path.suffix in (".yaml", ".json"))


@pytest.fixture(autouse=True)
def _in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    for name in ("SCBENCH_NO_SUCH_VARIABLE", "SCBENCH_NOT_THIS_ONE_EITHER"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("manifest", BROKEN, ids=lambda path: path.stem)
def test_a_broken_manifest_gives_its_exact_message(manifest: Path) -> None:
    """`check` prints every mistake with its place, the line with a caret and advice, and exits with 2."""
    result = CliRunner().invoke(check, [manifest.name])
    expected = manifest.with_suffix(".txt").read_text("utf-8")
    assert result.stdout.startswith(expected)
    assert result.stdout.removeprefix(expected).rstrip("\n").endswith(("mistake", "mistakes"))
    assert result.exit_code == 2


@pytest.mark.parametrize("manifest", BROKEN, ids=lambda path: path.stem)
def test_mistakes_are_told_to_programs(manifest: Path) -> None:
    """With `--format json` the same mistakes come as data: file, line, column, message, hint."""
    result = CliRunner().invoke(check, ["--format", "json", manifest.name])
    report = msgspec.json.decode(result.stdout)
    first = manifest.with_suffix(".txt").read_text("utf-8").splitlines()[0]
    places = [f"{one['file']}:{one['line']}:{one['column']}: {one['message']}" for one in report["mistakes"]]
    assert not report["valid"]
    assert first == places[0]


def test_there_are_enough_broken_manifests() -> None:
    """The collection is large, and none of its files lacks its expected message."""
    assert len(BROKEN) >= 60
    assert all(path.with_suffix(".txt").is_file() for path in BROKEN)

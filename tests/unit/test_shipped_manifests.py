"""Every manifest in manifests/ is right, and so are the scripts beside them."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from engine.evaluation import Evaluation
from engine.lines import read_lines
from engine.manifest import load_base, load_manifests
from engine.plan import check_plan, expand
from engine.sources import Given

FOLDER = Path(__file__).parents[2] / "manifests"
SNAPSHOTS = len(list(FOLDER.glob("samples/*/*/*/snapshot")))


@pytest.mark.parametrize(
    ("name", "times"), [("quickstart.yaml", 1), ("leaderboard.yaml", 4), ("generated.json", 1)]
)
def test_a_shipped_manifest_covers_every_sample(name: str, times: int) -> None:
    """Each sample is evaluated once for each environment and repeat of the manifest."""
    manifest = load_manifests([FOLDER / name], Given(variables={}))
    assert check_plan(manifest) == ()
    assert sum(1 for _ in expand(manifest)) == SNAPSHOTS * times > 0


def test_there_is_no_other_manifest() -> None:
    """A new manifest belongs into a test above."""
    names = {path.name for path in FOLDER.iterdir() if path.suffix in (".yaml", ".yml", ".json")}
    assert names == {"quickstart.yaml", "leaderboard.yaml", "generated.json", "stream.yaml"}


def test_the_script_writes_the_manifest_that_is_shipped() -> None:
    """`generated.json` is what `generate.py` makes of the samples."""
    made = runpy.run_path(str(FOLDER / "generate.py"))["manifest"]()
    assert made == json.loads((FOLDER / "generated.json").read_text("utf-8"))


def test_the_stream_is_evaluated() -> None:
    """Every line that `stream.py` writes is an evaluation under its base."""
    written = subprocess.run([sys.executable, FOLDER / "stream.py"], capture_output=True, check=True)
    base = load_base(FOLDER / "stream.yaml", Given(variables={}))
    items = list(read_lines(written.stdout.splitlines(keepends=True), base))
    assert all(isinstance(item, Evaluation) for item in items)
    assert len(items) == SNAPSHOTS

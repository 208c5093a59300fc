"""The quickstart through the real command: what a newcomer sees."""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.acceptance.command import ROOT
from tests.acceptance.conftest import Finished
from tests.docker.tiny import Line, decode_lines

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(900)]


def pinned() -> list[tuple[str, str, str, dict[str, object]]]:
    """Return what the authors of the samples intended: problem, model, checkpoint and outcome."""
    found = []
    for path in sorted((ROOT / "tests" / "data" / "samples").glob("*.yaml")):
        models: dict[str, dict[str, dict[str, object]]] = YAML(typ="safe").load(path)
        found += [
            (path.stem, model, checkpoint, outcome)
            for model, checkpoints in models.items()
            for checkpoint, outcome in checkpoints.items()
        ]
    return found


@pytest.fixture(scope="module")
def lines(quickstart: Finished) -> dict[tuple[str, str, str], Line]:
    """The results by problem, model and checkpoint."""
    found = decode_lines((quickstart.folder / "results.jsonl").read_bytes())
    return {(line.problem_name, line.labels["model"], line.checkpoint_name): line for line in found}


@pytest.mark.parametrize(
    ("problem", "model", "checkpoint", "outcome"),
    pinned(),
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_samples_get_the_intended_verdicts(
    problem: str,
    model: str,
    checkpoint: str,
    outcome: dict[str, object],
    lines: dict[tuple[str, str, str], Line],
) -> None:
    """Every sample has the verdict, and the counts by group, that its author intended."""
    line = lines[problem, model, checkpoint]
    found: dict[str, object] = {"verdict": line.verdict}
    if line.broken is not None:
        found |= {"kind": line.broken.kind.value, "fault": line.broken.fault.value}
    else:
        found |= {"passed": line.pass_counts, "total": line.total_counts}
    assert found == outcome


def test_every_sample_is_pinned(lines: dict[tuple[str, str, str], Line]) -> None:
    """There is no sample without an intention, and no intention without a sample."""
    assert {(problem, model, checkpoint) for problem, model, checkpoint, _ in pinned()} == set(lines)


def test_standard_output_has_results_only(
    quickstart: Finished, lines: dict[tuple[str, str, str], Line]
) -> None:
    """With `--jsonl -` every line of standard output is the result of an evaluation, each once."""
    streamed = decode_lines(quickstart.stdout.encode())
    assert sorted(line.id for line in streamed) == sorted(line.id for line in lines.values())


def test_leaderboard_and_exit_code(quickstart: Finished) -> None:
    """The run ends in a leaderboard of the three models; one is broken, so the exit code is 3."""
    assert quickstart.code == 3, quickstart.stderr
    for model in ("aurora-large", "breeze-mini", "cobble-tiny"):
        assert model in quickstart.stderr
    assert "Traceback" not in quickstart.stderr


def test_run_directory_is_complete(quickstart: Finished, lines: dict[tuple[str, str, str], Line]) -> None:
    """The run directory has the manifest, the journal, a summary, and everything about each evaluation."""
    folder = quickstart.folder
    assert {path.name for path in folder.iterdir()} >= {
        "manifest.yaml",
        "events.jsonl",
        "results.jsonl",
        "summary.json",
        "evaluations",
    }
    assert json.loads((folder / "summary.json").read_bytes())["exit_code"] == 3
    for line in lines.values():
        own = folder / "evaluations" / line.id
        told = json.loads((own / "evaluation.json").read_bytes())
        assert (told["id"], told["verdict"]) == (line.id, line.verdict)
        assert len(told["tests"]) == sum(line.total_counts.values())
        if line.broken is None:
            assert names_in(own / ".scbench") == ["ctrf-report.json", "pytest-report.json"]
            assert (own / "stdout.txt").stat().st_size > 0


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder."""
    return sorted(path.name for path in folder.iterdir())

"""Reference solutions pass every test, and the same in every sandbox and mode, sealed or not."""

import json
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from engine.problem import load_problem
from tests.acceptance.command import ROOT
from tests.acceptance.conftest import Finished, run_once

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(900)]

PROBLEMS = [load_problem(path.parent) for path in sorted((ROOT / "problems").glob("*/config.yaml"))]
CHECKPOINTS = [(problem.name, checkpoint.name) for problem in PROBLEMS for checkpoint in problem.checkpoints]
# The slower comparisons look at one checkpoint of each problem, and at all of them at will.
EVERYWHERE = bool(os.environ.get("SCBENCH_ALL_CHECKPOINTS"))
COMPARED = CHECKPOINTS if EVERYWHERE else [pair for pair in CHECKPOINTS if pair[1] == "checkpoint_1"]
SETUP = [{"run": "uv pip install -r requirements.txt", "inputs": ["requirements.txt"]}]

Key = tuple[str, str, str]
Statuses = dict[tuple[str, str], str]


class TestLine(msgspec.Struct, kw_only=True):
    """One test of an evaluation."""

    __test__ = False

    id: str
    file_path: str
    status: str


class Evaluation(msgspec.Struct, kw_only=True):
    """The file of one evaluation, as far as it matters here."""

    problem_name: str
    checkpoint_name: str
    labels: dict[str, str]
    verdict: str
    broken: dict[str, str] | None
    tests: list[TestLine]
    integrity: list[dict[str, str]]
    environment: dict[str, object]


def write_manifest(
    folder: Path, name: str, problems: Path, environment: dict[str, object], **more: object
) -> Path:
    """Write a manifest that evaluates the reference solutions in one environment."""
    document = {
        "version": 1,
        "problems": str(problems),
        "environment": {"setup": SETUP, **environment},
        "submissions": [
            {"path": f"{ROOT}/problems/{{problem}}/solutions/{{checkpoint}}", "labels": {"variant": name}}
        ],
        "policy": "all-cases",
        "resources": {"memory": "1GiB", "disk": "512MiB"},
        **more,
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document))
    return path


def unsealed_problems(folder: Path) -> Path:
    """Copy the problems, with the declaration that the tests import the submission."""
    for problem in PROBLEMS:
        copy = folder / problem.path.name
        shutil.copytree(problem.path, copy, ignore=shutil.ignore_patterns("solutions", "__pycache__"))
        with (copy / "config.yaml").open("a") as config:
            config.write("\nimports_submission: true\n")
    return folder


@pytest.fixture(scope="module")
def references(
    image: str, shared_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[Key, Evaluation]:
    """All evaluations of reference solutions, by variant, problem and checkpoint."""
    folder = tmp_path_factory.mktemp("references")
    own = ROOT / "problems"
    compared = ["*"] if EVERYWHERE else ["checkpoint_1"]
    manifests = [
        write_manifest(folder, "docker", own, {"image": image}),
        write_manifest(folder, "local", own, {"image": image, "sandbox": "local"}),
        write_manifest(
            folder, "unsealed", unsealed_problems(folder / "copies"), {"image": image}, checkpoints=compared
        ),
        write_manifest(folder, "uvx", own, {"image": image, "mode": "uvx"}, checkpoints=compared),
    ]
    done: Finished = run_once("references", image, shared_cache, folder, *manifests)
    found = [
        msgspec.json.decode(path.read_bytes(), type=Evaluation)
        for path in (done.folder / "evaluations").glob("*/evaluation.json")
    ]
    assert found, done.stderr
    return {(one.labels["variant"], one.problem_name, one.checkpoint_name): one for one in found}


def statuses(evaluation: Evaluation) -> Statuses:
    """Return the status of each test by file and id."""
    assert evaluation.broken is None, evaluation.broken
    return {(test.file_path, test.id): test.status for test in evaluation.tests}


@pytest.mark.parametrize("variant", ["docker", "local"])
@pytest.mark.parametrize(("problem", "checkpoint"), CHECKPOINTS)
def test_reference_solution_passes_every_test(
    references: dict[Key, Evaluation], problem: str, checkpoint: str, variant: str
) -> None:
    """The reference solution of a checkpoint passes all of its tests."""
    evaluation = references[variant, problem, checkpoint]
    wrong = {test: status for test, status in statuses(evaluation).items() if status != "passed"}
    assert not wrong
    assert len(evaluation.tests) >= 15
    assert evaluation.verdict == "passed"


@pytest.mark.parametrize(("problem", "checkpoint"), CHECKPOINTS)
def test_sandboxes_agree_test_by_test(
    references: dict[Key, Evaluation], problem: str, checkpoint: str
) -> None:
    """Docker and the local sandbox give each test the same outcome."""
    docker, local = (references[variant, problem, checkpoint] for variant in ("docker", "local"))
    assert statuses(docker) == statuses(local)


@pytest.mark.parametrize("variant", ["unsealed", "uvx"])
@pytest.mark.parametrize(("problem", "checkpoint"), COMPARED)
def test_seal_changes_no_outcome(
    references: dict[Key, Evaluation], problem: str, checkpoint: str, variant: str
) -> None:
    """With the seal, without it, and by plain uvx, each test has the same outcome."""
    sealed = references["docker", problem, checkpoint]
    other = references[variant, problem, checkpoint]
    assert statuses(sealed) == statuses(other)
    assert sealed.environment["sealed"]
    assert not other.environment["sealed"]
    assert "unsealed" in {warning["name"] for warning in other.integrity}

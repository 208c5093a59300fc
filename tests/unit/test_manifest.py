"""Manifests: includes, environments, limits, run directories, several at once."""

from pathlib import Path

import pytest

from engine.environment import Limits
from engine.errors import DocumentError, UserError
from engine.manifest import Manifest, load_base, load_manifests
from engine.sources import Given

REST = "problems: p\nsubmissions: [{path: 's/{problem}/{checkpoint}'}]\n"


def write(folder: Path, **texts: str) -> Path:
    """Write manifests and return the path of the last."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder
    for name, text in texts.items():
        path = folder / f"{name}.yaml"
        path.write_text(text, "utf-8")
    return path


def load(folder: Path, text: str, given: Given | None = None) -> Manifest:
    """Write one manifest and load it."""
    return load_manifests([write(folder, m=text)], given or Given(variables={}))


def test_the_least_that_a_manifest_says(tmp_path: Path) -> None:
    """Version, problems and submissions are enough; everything else has a careful default."""
    manifest = load(tmp_path, "version: 1\n" + REST)
    assert (manifest.name, manifest.policy, manifest.concurrency.batch) == ("m", "core-cases", "auto")
    assert manifest.parts[0].timeouts.limits(None) == Limits()
    assert manifest.parts[0].matrix[0].image == "python:3.12-slim"
    assert manifest.output == str(Path.cwd() / "runs")


def test_includes_are_nested_and_later_values_win(tmp_path: Path) -> None:
    """Mappings merge, lists replace, and each path is relative to the file that it stands in."""
    write(
        tmp_path / "deep",
        base="problems: {path: here}\ntimeouts: {test: 1s, session: 9s}\ncheckpoints: [a, b]\n",
    )
    write(tmp_path, middle="include: deep/base.yaml\ntimeouts: {test: 2s}\noutput: out\n")
    submissions = "submissions: [{path: 's/{problem}/{checkpoint}'}]\n"
    text = f"version: 1\ninclude: [../middle.yaml]\ncheckpoints: [c]\n{submissions}"
    manifest = load(tmp_path / "top", text)
    part = manifest.parts[0]
    assert (part.timeouts.test, part.timeouts.session, part.checkpoints) == (2, 9, ("c",))
    assert part.problems.path == str(tmp_path / "deep" / "here")
    assert manifest.output == str(tmp_path / "out")
    assert part.folder("submissions", 0, "path") == str(tmp_path / "top")


def test_an_environment_is_a_name_a_file_or_a_mapping(tmp_path: Path) -> None:
    """All three ways lead to the same kind of value, in either form."""
    write(tmp_path, file="type: docker\ndocker: {image: from-file}\n")
    ways = {
        "named": "environment: n\nenvironments: {n: {image: from-name}}\n",
        "file": "environment: file.yaml\n",
        "mapping": "environment: {image: from-mapping}\n",
        "scbench": "environment: {type: docker, docker: {image: from-scbench}}\n",
        "only": "environments: {n: file.yaml}\n",
    }
    images = {
        name: load(tmp_path, "version: 1\n" + REST + way).parts[0].matrix[0].image
        for name, way in ways.items()
    }
    assert images == {
        "named": "from-name",
        "file": "from-file",
        "mapping": "from-mapping",
        "scbench": "from-scbench",
        "only": "from-file",
    }


def test_resources_of_an_environment_win_over_those_of_the_manifest(tmp_path: Path) -> None:
    """What is said nearest to the environment holds, and what is said nowhere is the default."""
    text = "resources: {memory: 1GiB, pids: 99}\nenvironment: {resources: {pids: 32}}\n"
    resources = load(tmp_path, "version: 1\n" + REST + text).parts[0].matrix[0].resources
    assert (resources.memory, resources.pids, resources.cpus) == (1 << 30, 32, 1.0)


def test_limits_that_are_left_open_hold_those_that_are_said(tmp_path: Path) -> None:
    """A long test makes session and evaluation long where nobody said otherwise."""
    part = load(tmp_path, "version: 1\n" + REST + "timeouts: {setup: 1m}\n").parts[0]
    limits = part.timeouts.limits(7200)
    assert limits.test == 7200
    assert limits.session >= limits.test
    assert limits.evaluation >= limits.session + limits.setup


def test_off_switches_a_limit_off(tmp_path: Path) -> None:
    """Commands and the batch may have no limit."""
    timeouts = load(tmp_path, "version: 1\n" + REST + "timeouts: {command: off, batch: off}\n").timeouts
    assert (timeouts.command, timeouts.batch) == (None, None)


def test_several_manifests_share_one_batch(tmp_path: Path) -> None:
    """Each keeps what it asks for, and the last that says a shared setting wins."""
    first = write(tmp_path, a="version: 1\nconcurrency: 3\ntimeouts: {batch: 1h}\n" + REST)
    second = write(tmp_path, b="version: 1\nconcurrency: {batch: 5}\n" + REST)
    manifest = load_manifests([first, second], Given(variables={}))
    assert [part.name for part in manifest.parts] == ["a", "b"]
    assert (manifest.concurrency.batch, manifest.timeouts.batch) == (5, 3600)


def test_manifests_of_one_batch_need_one_policy(tmp_path: Path) -> None:
    """Two policies in one call would judge one manifest by the other's rule."""
    first = write(tmp_path, a="version: 1\npolicy: any\n" + REST)
    second = write(tmp_path, b="version: 1\n" + REST)
    with pytest.raises(DocumentError, match="different policies"):
        load_manifests([first, second], Given(variables={}))


def test_what_is_given_wins(tmp_path: Path) -> None:
    """Options of a command are laid over the manifest, and paths in them are relative to where we are."""
    given = Given(values={"concurrency": 7, "policy": "any"}, problems=Path("elsewhere"), variables={})
    manifest = load(tmp_path, "version: 1\n" + REST, given)
    assert (manifest.concurrency.batch, manifest.policy) == (7, "any")
    assert manifest.parts[0].problems.path == str(Path.cwd() / "elsewhere")


def test_a_run_directory_needs_no_manifest(tmp_path: Path) -> None:
    """Its own environment is used, and its name is a label."""
    run = tmp_path / "my-run"
    write(run, environment="type: docker\ndocker: {image: i}\n")
    manifest = load_manifests([run], Given(problems=tmp_path, variables={}))
    part = manifest.parts[0]
    assert (part.name, part.matrix[0].image) == ("my-run", "i")
    assert part.submissions[0].labels == {"run": "my-run"}


def test_a_run_directory_needs_its_problems(tmp_path: Path) -> None:
    """The message says which option is missing."""
    with pytest.raises(UserError, match="--problems DIR"):
        load_manifests([tmp_path], Given(variables={}))


def test_a_base_need_not_ask_for_anything(tmp_path: Path) -> None:
    """Lines of standard input bring the evaluations; without a base the problems must be said."""
    assert load_base(write(tmp_path, base="version: 1\nproblems: p\n"), Given(variables={})).name == "base"
    assert load_base(None, Given(problems=tmp_path, variables={})).parts[0].problems.path == str(tmp_path)
    with pytest.raises(UserError, match="--base MANIFEST or --problems DIR"):
        load_base(None, Given(variables={}))


def test_mistakes_of_all_kinds_and_files_are_told_at_once(tmp_path: Path) -> None:
    """A wrong key does not hide a wrong environment, nor one manifest another."""
    first = write(
        tmp_path, a="version: 1\npolcy: any\nenvironment: nowhere\ntimeouts: {test: 9m, session: 1s}\n" + REST
    )
    second = write(tmp_path, b="version: 1\nrepeat: 0\n" + REST)
    with pytest.raises(DocumentError) as caught:
        load_manifests([first, second], Given(variables={}))
    lines = sorted((Path(place.file).name, place.line) for place in caught.value.places)
    assert lines == [("a.yaml", 2), ("a.yaml", 3), ("a.yaml", 4), ("b.yaml", 2)]

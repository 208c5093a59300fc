"""Plans: which evaluations there are, their ids, and what a fingerprint depends on."""

import json
import os
import time
from itertools import islice
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import UserError
from engine.evaluation import Evaluation, Identity, Versions, fingerprint
from engine.manifest import load_manifests
from engine.plan import check_plan, expand
from engine.sources import Given
from engine.treehash import TreeHasher

DATA = Path(__file__).parents[1] / "data" / "manifests"
VERSIONS = Versions(image_digest="sha256:1", toolchain={"pytest": "9"}, packages={}, grader="1")


def plan(folder: Path, text: str, select: tuple[str, ...] = ()) -> list[Evaluation]:
    """Expand a manifest that lies in a folder of its own and uses the problems of the test data."""
    path = folder / "m.yaml"
    path.write_text(f"version: 1\nproblems: {DATA / 'problems'}\n{text}", "utf-8")
    return list(expand(load_manifests([path], Given(variables={})), select))


SUBMISSIONS = f"submissions: [{{path: '{DATA}/submissions/{{model}}/{{problem}}/{{checkpoint}}'}}]\n"


def test_every_folder_that_fits_is_an_evaluation(tmp_path: Path) -> None:
    """Placeholders other than problem and checkpoint become labels."""
    found = [(one.problem_name, one.checkpoint, one.labels) for one in plan(tmp_path, SUBMISSIONS)]
    assert found == [
        ("count", "basic", (("model", "ada"),)),
        ("greet", "checkpoint_1", (("model", "ada"),)),
        ("greet", "checkpoint_2", (("model", "ada"),)),
        ("greet", "checkpoint_1", (("model", "bob"),)),
    ]


def test_matrix_and_repeat_multiply(tmp_path: Path) -> None:
    """Each submission is evaluated in each environment as often as asked, under ids of its own."""
    text = SUBMISSIONS + "environments: {a: {}, b: {}}\nmatrix: {environment: [a, b]}\nrepeat: 3\n"
    evaluations = plan(tmp_path, text)
    assert len(evaluations) == 4 * 2 * 3
    assert len({one.id for one in evaluations}) == len(evaluations)
    assert {one.repeat_index for one in evaluations} == {0, 1, 2}


def test_an_evaluation_that_names_its_environment_is_not_multiplied(tmp_path: Path) -> None:
    """The matrix is for what does not say where it runs."""
    entry = (
        f"{{problem: greet, checkpoint: checkpoint_1, submission: {DATA}/submissions/bob/greet/checkpoint_1"
    )
    text = f"evaluations:\n  - {entry}}}\n  - {entry}, environment: c}}\n"
    text += "environments: {a: {}, b: {}, c: {}}\nmatrix: {environment: [a, b]}\n"
    assert [one.environment.name for one in plan(tmp_path, text)] == ["a", "b", "c"]


def test_the_limit_of_a_test_comes_from_the_nearest(tmp_path: Path) -> None:
    """Problem before manifest before the default of 30 seconds."""
    limits = {
        one.problem_name: one.limits.test for one in plan(tmp_path, SUBMISSIONS + "timeouts: {test: 7s}\n")
    }
    assert limits == {"greet": 20, "count": 7}
    limits = {one.problem_name: one.limits.test for one in plan(tmp_path, SUBMISSIONS)}
    assert limits == {"greet": 20, "count": 30}


def test_filters_leave_out(tmp_path: Path) -> None:
    """Problems and checkpoints that the manifest excludes are not evaluated, and that is no mistake."""
    text = SUBMISSIONS + "checkpoints: [checkpoint_1]\n"
    assert {(one.problem_name, one.checkpoint) for one in plan(tmp_path, text)} == {("greet", "checkpoint_1")}


@pytest.mark.parametrize(
    ("select", "count"),
    [("greet", 3), ("greet/checkpoint_2", 1), ("*/*/bob", 1), ("*/*/model=a*", 3), ("basic", 1), ("ada", 3)],
)
def test_selection(tmp_path: Path, select: str, count: int) -> None:
    """A glob fits problem, checkpoint and label by position, or any of them when it is one word."""
    assert len(plan(tmp_path, SUBMISSIONS, (select,))) == count


def test_a_selection_that_fits_nothing_is_told(tmp_path: Path) -> None:
    """Running nothing without a word would look like success."""
    with pytest.raises(UserError, match="nothing fits --select nope"):
        plan(tmp_path, SUBMISSIONS, ("nope",))


def test_labels_keep_how_they_were_written(tmp_path: Path) -> None:
    """A version 1.10 does not become 1.1."""
    path = f"{DATA}/submissions/{{model}}/{{problem}}/{{checkpoint}}"
    labels = f"{{path: '{path}', labels: {{v: 1.10, ok: true, n: 3}}}}"
    assert plan(tmp_path, f"submissions: [{labels}]\n")[0].labels == (
        ("model", "ada"),
        ("n", "3"),
        ("ok", "true"),
        ("v", "1.10"),
    )


def test_ids_do_not_depend_on_where_the_tree_lies(tmp_path: Path) -> None:
    """The same manifest beside the same submissions gives the same ids on another machine."""
    ids = []
    for name in ("here", "there"):
        submission = tmp_path / name / "subs" / "bob" / "greet" / "checkpoint_1"
        submission.mkdir(parents=True)
        text = "submissions: [{path: 'subs/{model}/{problem}/{checkpoint}'}]\n"
        ids.append([one.id for one in plan(tmp_path / name, text)])
    assert ids[0] == ids[1]
    assert ids[0][0].startswith("greet-checkpoint_1-bob-default-")


def test_an_evaluation_survives_the_journey(tmp_path: Path) -> None:
    """It is a value: equal and of equal hash after it was sent as JSON."""
    evaluation = plan(tmp_path, SUBMISSIONS)[0]
    arrived = msgspec.json.decode(msgspec.json.encode(evaluation), type=Evaluation)
    assert arrived == evaluation
    assert hash(arrived) == hash(evaluation)


IDENTITIES = st.builds(
    Identity,
    manifest=st.text(max_size=5),
    problem=st.text(max_size=20),
    checkpoint=st.text(max_size=20),
    submission=st.text(max_size=20),
    labels=st.lists(st.tuples(st.text(max_size=9), st.text(max_size=90)), max_size=4).map(tuple),
    environment=st.text(max_size=9),
    repeat_index=st.integers(0, 20),
)


@given(IDENTITIES, IDENTITIES)
def test_ids_are_safe_in_paths_and_tell_apart(one: Identity, other: Identity) -> None:
    """Whatever the names are, an id is one harmless path component, equal only for equal identities."""
    for identity in (one, other):
        assert set(identity.id()) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
        assert 0 < len(identity.id()) <= 200
        assert not identity.id().startswith(".")
    assert (one == other) == (one.id() == other.id())


def test_a_hundred_thousand_evaluations_begin_at_once(tmp_path: Path) -> None:
    """The first evaluation is there long before the last, and all come without being kept."""
    submission = str(DATA / "submissions" / "bob" / "greet" / "checkpoint_1")
    entry = {"problem": "greet", "checkpoint": "checkpoint_1", "submission": submission}
    entries = [{**entry, "labels": {"n": number}} for number in range(100_000)]
    path = tmp_path / "big.json"
    path.write_text(json.dumps({"version": 1, "problems": str(DATA / "problems"), "evaluations": entries}))
    started = time.process_time()
    evaluations = expand(load_manifests([path], Given(variables={})))
    first = next(evaluations)
    until_first = time.process_time() - started
    assert first.labels == (("n", "0"),)
    assert sum(1 for _ in islice(evaluations, 200_000)) == 99_999
    assert until_first < 2
    assert time.process_time() - started < 20


def test_mistakes_in_a_big_plan_are_limited(tmp_path: Path) -> None:
    """A thousand wrong names do not become a thousand messages, and the rest is counted."""
    entry = {"problem": "greet", "checkpoint": "nope", "submission": "x"}
    tree = {"version": 1, "problems": str(DATA / "problems"), "evaluations": [entry] * 1000}
    path = tmp_path / "big.json"
    path.write_text(json.dumps(tree))
    places = check_plan(load_manifests([path], Given(variables={})))
    assert len(places) == 201
    assert "and 800 more mistakes" in places[-1].message


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A problem with an asset, and a submission, that tests may change."""
    problem = tmp_path / "problems" / "p"
    (problem / "tests").mkdir(parents=True)
    config = "name: p\nentry_file: main.py\ncheckpoints: {a: {}, b: {}}\nstatic_assets: {w: {path: words}}\n"
    (problem / "config.yaml").write_text(config)
    for name in ("conftest.py", "test_a.py", "test_b.py"):
        (problem / "tests" / name).write_text("# tests\n")
    (problem / "words").write_text("words\n")
    submission = tmp_path / "submission"
    submission.mkdir()
    (submission / "main.py").write_text("print(1)\n")
    text = (
        "version: 1\nproblems: problems\nevaluations: [{problem: p, checkpoint: a, submission: submission}]\n"
    )
    (tmp_path / "m.yaml").write_text(text)
    return tmp_path


def first_fingerprint(tree: Path, versions: Versions = VERSIONS, given: Given | None = None) -> str:
    """The fingerprint of the only evaluation in a tree."""
    manifest = load_manifests([tree / "m.yaml"], given or Given(variables={}))
    with TreeHasher() as hasher:
        return fingerprint(next(expand(manifest)), versions, hasher)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("submission/main.py", "print(2)\n"),
        ("submission/new.txt", ""),
        ("problems/p/tests/conftest.py", "# other\n"),
        ("problems/p/tests/data.json", "{}"),
        ("problems/p/words", "other\n"),
    ],
)
def test_a_changed_byte_changes_the_fingerprint(tree: Path, path: str, text: str) -> None:
    """Submission, tests, data and assets all matter."""
    before = first_fingerprint(tree)
    (tree / path).write_text(text)
    assert first_fingerprint(tree) != before


@pytest.mark.parametrize(
    "values",
    [
        {"timeouts": {"session": "1m"}},
        {"resources": {"memory": "1GiB"}},
        {"environment": {"entrypoint": "uv run {entry_file}"}},
        {"environment": {"env": {"A": "1"}}},
        {"environment": {"runtime": "runsc"}},
        {"environment": {"sandbox": "local"}},
    ],
)
def test_what_it_runs_under_changes_the_fingerprint(tree: Path, values: dict[str, dict[str, str]]) -> None:
    """Limits, commands, variables, sandbox and runtime all matter."""
    assert first_fingerprint(tree) != first_fingerprint(tree, given=Given(values=values, variables={}))  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["image_digest", "grader"])
def test_versions_change_the_fingerprint(tree: Path, field: str) -> None:
    """Another image or another grader may judge otherwise."""
    assert first_fingerprint(tree) != first_fingerprint(
        tree, msgspec.structs.replace(VERSIONS, **{field: "other"})
    )


def test_what_does_not_matter_does_not_change_the_fingerprint(tree: Path) -> None:
    """Policy, labels, names, later checkpoints' tests, bytecode and times of files are left out."""
    before = first_fingerprint(tree)
    (tree / "problems/p/tests/test_b.py").write_text("# later\n")
    (tree / "problems/p/tests/__pycache__").mkdir()
    (tree / "problems/p/tests/__pycache__/x.pyc").touch()
    os.utime(tree / "submission/main.py", (1, 1))
    manifest = (tree / "m.yaml").read_text()
    (tree / "m.yaml").write_text(f"{manifest}policy: any\nname: other\nenvironments: {{python: {{}}}}\n")
    assert first_fingerprint(tree) == before

"""What every sandbox promises, in the same words for each: a new one is one more parameter."""

import json
from typing import get_args

import msgspec
import pytest

from engine.environment import SandboxName
from engine.sandbox import Progress
from tests.docker.tiny import FIRST, Bench, statuses, write_files

pytestmark = pytest.mark.docker


@pytest.fixture(params=get_args(SandboxName))
def sandbox_name(request: pytest.FixtureRequest) -> SandboxName:
    """Every sandbox in turn."""
    name: SandboxName = request.param
    return name


OUTCOMES = """
import pytest


@pytest.fixture
def broken_setup():
    raise RuntimeError("set-up")


@pytest.fixture
def broken_teardown():
    yield
    raise RuntimeError("teardown")


def test_passes():
    pass


def test_fails():
    assert 1 == 2, "one is not two"


def test_raises():
    raise OSError("no")


@pytest.mark.skip(reason="not now")
def test_is_skipped():
    pass


def test_skips_itself():
    pytest.skip("not here")


@pytest.mark.xfail(reason="known")
def test_fails_as_expected():
    assert False


@pytest.mark.xfail(reason="known")
def test_passes_unexpectedly():
    pass


def test_setup_error(broken_setup):
    pass


def test_teardown_error(broken_teardown):
    pass


class TestGrouped:
    def test_in_class(self):
        pass
"""


async def test_outcomes_are_what_pytest_says(bench: Bench) -> None:
    """Each way in which a test can end has its status."""
    results = (await bench.evaluate(OUTCOMES)).results
    assert results.broken is None
    assert results.pytest_exit_code == 1
    assert statuses(results) == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_raises": "failed",
        "test_is_skipped": "skipped",
        "test_skips_itself": "skipped",
        "test_fails_as_expected": "skipped",
        "test_passes_unexpectedly": "passed",
        "test_setup_error": "error",
        "test_teardown_error": "error",
        "TestGrouped::test_in_class": "passed",
    }
    messages = {test.id: test.failure_message or "" for test in results.tests}
    assert "one is not two" in messages["test_fails"]
    assert not messages["test_passes"]
    assert {test.file_path for test in results.tests} == {"tests/test_checkpoint_1.py"}


NAMES = ["a b", "käse", "日本語", "::", "x::y[z]", "a/b", "[", "error", "'\"", "%", "<b>"]


async def test_names_of_parameters_survive(bench: Bench) -> None:
    """Parameters with spaces, other scripts and the separators of ids keep their names."""
    tests = f"""
    import pytest

    @pytest.mark.parametrize("value", {NAMES!r}, ids=str)
    def test_value(value):
        assert value != "a/b"
    """
    results = (await bench.evaluate(bench.problem(tests))).results
    assert results.broken is None
    assert len(results.tests) == len(NAMES)
    found = statuses(results)
    escaped = {"käse": "k\\xe4se", "日本語": "\\u65e5\\u672c\\u8a9e"}
    for name in NAMES:
        expected = "failed" if name == "a/b" else "passed"
        assert found[f"test_value[{escaped.get(name, name)}]"] == expected


LOOKS_AROUND = """
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

with tempfile.NamedTemporaryFile() as file:
    file.write(b"x")
(Path.home() / "mine").write_text("x")
print(json.dumps({
    "cwd": os.getcwd(),
    "files": sorted(os.listdir()),
    "arguments": sys.argv[1:],
    "environment": dict(os.environ),
    "pytest": shutil.which("pytest"),
    "python": shutil.which("python"),
    "temporary": tempfile.gettempdir(),
    "path": sys.path,
    "modules": sorted(sys.modules),
}))
"""
PASSES_ON = """
import os

def test_looks_around(start):
    done = start("one", "two words", "")
    assert done.returncode == 0, done.stderr
    print("SEEN " + done.stdout)
    print("GRADER " + os.getcwd())
    assert False
"""


class Seen(msgspec.Struct, kw_only=True):
    """What a submission saw of the place in which it was started."""

    cwd: str
    files: list[str]
    arguments: list[str]
    environment: dict[str, str]
    pytest: str | None
    python: str
    temporary: str
    path: list[str]


async def look_around(bench: Bench, **config: object) -> tuple[Seen, str]:
    """Start a submission that tells what it sees; return that, and the grader's own current folder."""
    problem = bench.problem(PASSES_ON, None, **config)
    evaluated = await bench.evaluate(problem, LOOKS_AROUND)
    assert evaluated.results.broken is None, evaluated.results.broken
    lines = evaluated.stdout.text().splitlines()
    told = {
        line.split(" ", 1)[0]: line.split(" ", 1)[1]
        for line in lines
        if line.startswith(("SEEN ", "GRADER "))
    }
    return msgspec.json.decode(told["SEEN"], type=Seen), told["GRADER"]


async def test_surroundings_of_the_submission(bench: Bench) -> None:
    """A submission runs in its workspace, with its own environment first and nothing of the grader's."""
    seen, grader = await look_around(bench)
    assert seen.cwd == grader
    assert seen.files == [".venv", "main.py"]
    assert seen.arguments == ["one", "two words", ""]
    environment = seen.environment
    assert environment["PATH"].split(":")[0] == environment["VIRTUAL_ENV"] + "/bin"
    assert seen.python == environment["VIRTUAL_ENV"] + "/bin/python"
    # The local sandbox shows what else this machine has on its PATH; the toolchain is never there.
    assert seen.pytest is None or (bench.environment.sandbox == "local" and "toolchain" not in seen.pytest)
    assert seen.temporary == environment["TMPDIR"]
    assert environment["UV_OFFLINE"] == "1"
    assert environment["SCBENCH_CHECKPOINT"] == "checkpoint_1"
    assert not [name for name in environment if name.startswith(("PYTEST_", "PYTHON"))]
    assert not [
        entry for entry in seen.path if "toolchain" in entry or entry.startswith("/opt/scbench/tools")
    ]


async def test_variables_of_problem_and_checkpoint(bench: Bench) -> None:
    """Variables of the problem reach what tests start, those of the checkpoint on top."""
    seen, _ = await look_around(
        bench,
        env={"LEVEL": "problem", "ONLY": "problem", "NUMBER": 8080},
        checkpoints={"checkpoint_1": {"version": 1, "env": {"LEVEL": "checkpoint"}}},
    )
    told = {name: seen.environment[name] for name in ("LEVEL", "ONLY", "NUMBER")}
    assert told == {"LEVEL": "checkpoint", "ONLY": "problem", "NUMBER": "8080"}


async def test_entry_command_is_passed_unchanged(bench: Bench) -> None:
    """Tests receive the entry command letter by letter, without anything before or after it."""
    command = "python -X utf8 'a b'/../{entry_file} --flag=\"x y\""
    environment = msgspec.structs.replace(bench.environment, entrypoint=command)
    tests = "def test_entry(entrypoint):\n    assert entrypoint == " + repr(
        command.format(entry_file="main.py")
    )
    results = (await bench.evaluate(tests, environment=environment)).results
    assert statuses(results) == {"test_entry": "passed"}


async def test_assets_are_laid_beside_the_tests(bench: Bench) -> None:
    """Static assets are found by their variables, by tests and by what tests start."""
    files = {"material/one.txt": "one", "material/deep/two.txt": "two", "single.json": "{}"}
    assets = {"folder": {"path": "material"}, "single.json": {"path": "single.json"}}
    tests = """
    import os
    from pathlib import Path

    def test_assets(start):
        folder = Path(os.environ["SCBENCH_ASSETS_DIR"])
        assert (folder / "folder" / "deep" / "two.txt").read_text() == "two"
        assert Path(os.environ["SCBENCH_ASSET_folder"]) == folder / "folder"
        assert Path(os.environ["SCBENCH_ASSET_SINGLE_JSON"]).read_text() == "{}"
        assert (Path(__file__).parent / "assets" / "single.json").read_text() == "{}"
        assert start(os.environ["SCBENCH_ASSET_FOLDER"] + "/one.txt").stdout == "one"
    """
    problem = bench.problem(tests, files, static_assets=assets)
    evaluated = await bench.evaluate(problem, "import sys; print(open(sys.argv[1]).read(), end='')")
    assert statuses(evaluated.results) == {"test_assets": "passed"}, evaluated.stdout.text()


async def test_ids_are_announced_before_any_test_runs(bench: Bench) -> None:
    """Progress knows how many tests there are before the first one is done."""
    seen: list[Progress] = []
    await bench.evaluate(OUTCOMES, on_progress=seen.append)
    counted = [(step.tests_done, step.tests_total) for step in seen if step.tests_total is not None]
    assert counted[0] == (0, 10)
    assert counted[-1] == (10, 10)
    assert [step.phase for step in seen][:2] == ["prepare", "start"]


async def test_both_reports_come_along(bench: Bench) -> None:
    """The raw reports of pytest are handed out as they were written."""
    evaluated = await bench.evaluate(OUTCOMES)
    assert sorted(evaluated.reports) == ["ctrf-report.json", "pytest-report.json"]
    assert json.loads(evaluated.reports["pytest-report.json"])["exitcode"] == 1
    assert len(json.loads(evaluated.reports["ctrf-report.json"])["results"]["tests"]) == 10


async def test_output_is_bounded(bench: Bench) -> None:
    """Of an endless output the head and the tail are kept, and how much is missing between them."""
    tests = """
    import os

    def test_talks(capfd):
        with capfd.disabled():
            for part in (b"BEGIN ", *[b"x" * (1 << 20)] * 64, b" END"):
                while part:
                    part = part[os.write(1, part):]
    """
    evaluated = await bench.evaluate(bench.problem(tests))
    output = evaluated.stdout
    assert statuses(evaluated.results) == {"test_talks": "passed"}
    assert b"BEGIN " in output.head
    assert b" END" in output.tail
    assert len(output.head) + len(output.tail) < 1 << 20
    assert len(output.head) + len(output.tail) + output.omitted > 64 << 20
    assert f"{output.omitted} bytes left out" in output.text()


async def test_prior_checkpoints_run_and_later_ones_do_not(bench: Bench) -> None:
    """Tests of earlier checkpoints run as regressions, and those of later ones are not even there."""
    tests = """
    from pathlib import Path

    def test_nothing_later():
        assert not (Path(__file__).parent / "test_last.py").exists()
        assert (Path(__file__).parent / "data.txt").read_text() == "kept"
    """
    files = {
        "tests/test_first.py": FIRST,
        "tests/test_middle.py": tests,
        "tests/test_last.py": FIRST,
        "tests/test_unlisted.py": FIRST,
        "tests/data.txt": "kept",
    }
    checkpoints = {name: {"version": 1} for name in ("first", "middle", "last")}
    problem = bench.problem("", files, checkpoints=checkpoints)
    runner = bench.runner(problem, bench.submission())
    runner.checkpoint = problem.checkpoint("middle")
    results = (await runner.evaluate(bench.workshop)).results
    found = {(test.file_path, test.id, test.group_type.value): test.status for test in results.tests}
    assert found == {
        ("tests/test_first.py", "test_first", "Regression"): "passed",
        ("tests/test_middle.py", "test_nothing_later", "Core"): "passed",
    }


async def test_nothing_of_the_workspace_is_loaded_by_the_grader(bench: Bench) -> None:
    """A conftest, a configuration or a module of the submission has no effect on pytest."""
    submission = write_files(
        bench.folder / "greedy",
        {
            "main.py": "print('hello')",
            "conftest.py": "raise SystemExit('loaded')",
            "pytest.ini": "[pytest]\naddopts = --collect-only\n",
            "pytest.toml": "[pytest]\naddopts = ['--collect-only']\n",
            "jsonschema.py": "raise SystemExit('loaded')",
            "sitecustomize.py": "raise SystemExit('loaded')",
        },
    )
    tests = "import jsonschema\n\ndef test_ran():\n    assert jsonschema.validate\n"
    results = (await bench.evaluate(tests, submission)).results
    assert statuses(results) == {"test_ran": "passed"}


async def test_evaluations_do_not_see_each_other(bench: Bench) -> None:
    """What one evaluation leaves in workspace, home and temporary folder is not there for the next."""
    leaves = """
    import os, tempfile
    from pathlib import Path
    places = (Path.cwd(), Path.home(), Path(tempfile.gettempdir()))
    print(sum((place / "left").exists() for place in places))
    for place in places:
        (place / "left").write_text("here")
    """
    tests = "def test_clean(start):\n    assert start().stdout == '0\\n'\n"
    problem = bench.problem(tests)
    submission = bench.submission({"main.py": leaves})
    for _ in range(2):
        evaluated = await bench.evaluate(problem, submission)
        assert statuses(evaluated.results) == {"test_clean": "passed"}, evaluated.stdout.text()

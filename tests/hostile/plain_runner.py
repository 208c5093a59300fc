"""A runner in the seeds' way, to show what a hostile case wins where nothing stops it.

Tests, configuration and reports lie in the workspace beside the submission, pytest and what it starts are
one user, and the verdict is read from the reports that are there in the end. The container is limited only
so that the machine survives.
"""

import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any, Literal

import msgspec

from engine.problem import ProblemConfig, load_problem
from engine.workspace import pytest_ini
from tests.hostile.collection import HERE, Case

USER = 4242
HOST_SECRET = "nobody-may-read-host-c7f05e12d9"
LIMIT = 25
# Runs as pid 1 and leaves the work to a child, as a shell in a container does.
SCRIPT = f"""
mkdir -p $HOME && cd /workspace && tar -x && mkdir -p .scbench
timeout -s KILL {LIMIT} /opt/scbench/tools/pytest/bin/python -m pytest tests/ \\
    --entrypoint="python3 main.py" --checkpoint=checkpoint_1 --timeout=10 -vv -p no:cacheprovider \\
    --ctrf=.scbench/ctrf-report.json --json-report --json-report-file=.scbench/pytest-report.json 1>&2
code=$?
tar -c .scbench 2>/dev/null
exit $code
"""

Outcome = Literal["passed", "failed", "no reports", "collection error"]


class PlainRun(msgspec.Struct, frozen=True, kw_only=True):
    """What the plain runner makes of a submission."""

    outcome: Outcome
    # What the submission has found and should not have.
    spoils: str
    hung: bool
    host_file_overwritten: bool
    output: str

    def gained(self, gain: str) -> bool:
        """Whether the submission got this."""
        return {
            "passed": self.outcome == "passed",
            "escaped": self.outcome in ("no reports", "collection error"),
            "spoils": self.spoils != "",
            "hung": self.hung,
            "host_file": self.host_file_overwritten,
        }[gain]


def run_plainly(case: Case, image: str, toolchain: str, folder: Path) -> PlainRun:
    """Run the submission of a case as the seeds describe it."""
    problem = load_problem(HERE / case.problem)
    victim = folder / "victim.txt"
    folder.mkdir()
    victim.write_text(HOST_SECRET)
    _lay_out(problem, case.assemble(folder / "submission"), folder / "workspace")
    done = _start(image, toolchain, folder / "workspace")
    reports = _unpack(done.stdout)
    return PlainRun(
        outcome=_judge(reports, problem),
        spoils=_spoils(reports),
        hung=done.returncode in (124, 137) and not reports,
        host_file_overwritten=victim.read_text() != HOST_SECRET,
        output=done.stderr.decode("utf-8", "replace")[-4000:],
    )


def _lay_out(problem: ProblemConfig, submission: Path, workspace: Path) -> None:
    shutil.copytree(submission, workspace)
    # Where the folder of the submission itself is used, the write below goes through a link.
    if (submission / "pytest.ini").is_symlink():
        (workspace / "pytest.ini").unlink()
        (workspace / "pytest.ini").symlink_to((submission / "pytest.ini").readlink())
    shutil.copytree(problem.tests, workspace / "tests", dirs_exist_ok=True)
    (workspace / "tests" / "assets").mkdir(exist_ok=True)
    for name, path in problem.static_assets.items():
        shutil.copy(path, workspace / "tests" / "assets" / name)
    (workspace / "pytest.ini").write_text(pytest_ini(problem))


def _start(image: str, toolchain: str, workspace: Path) -> "subprocess.CompletedProcess[bytes]":
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(workspace, ".")
    limits = ("--memory=512m", "--memory-swap=512m", "--pids-limit=96", "--network=none", "--cap-drop=ALL")
    place = (
        "--tmpfs",
        f"/workspace:rw,exec,size=64m,uid={USER},gid={USER}",
        "--tmpfs",
        "/tmp:rw,size=64m,mode=1777",
    )
    settings: tuple[str, ...] = ("-e", "HOME=/tmp/home", "-e", "SCBENCH_ASSETS_DIR=/workspace/tests/assets")
    settings = (
        *settings,
        "-e",
        "SCBENCH_ASSET_WORDS=/workspace/tests/assets/words",
        "--user",
        f"{USER}:{USER}",
    )
    mount = ("--mount", f"type=volume,source={toolchain},target=/opt/scbench,readonly")
    command = ["docker", "run", "--rm", "-i", "--security-opt=no-new-privileges", "--log-driver=none"]
    command += [*limits, *place, *settings, *mount, image, "/bin/sh", "-c", SCRIPT]
    return subprocess.run(command, input=packed.getvalue(), capture_output=True, timeout=120, check=False)


def _unpack(data: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isreg() else None
                if content is not None:
                    found[Path(member.name).name] = content.read()
    except tarfile.TarError:
        pass
    return found


def _judge(reports: dict[str, bytes], problem: ProblemConfig) -> Outcome:
    """Judge as the seeds do: by the report that is there, pytest-json-report first."""
    for name, judge in (("pytest-report.json", _judge_json_report), ("ctrf-report.json", _judge_ctrf)):
        if name in reports:
            try:
                return judge(json.loads(reports[name]))
            except (ValueError, KeyError):
                continue
    return "no reports"


def _judge_json_report(report: Any) -> Outcome:
    if report.get("exitcode") == 2:
        return "collection error"
    return _all_core_passed((test["nodeid"], test["outcome"]) for test in report["tests"])


def _judge_ctrf(report: Any) -> Outcome:
    return _all_core_passed((test["name"], test["status"]) for test in report["results"]["tests"])


# The tests of the problem that are not Core, as the markers say.
_LESSER = ("test_refuses_what_is_no_number", "test_tells_its_version", "test_leaves_no_spoils")


def _all_core_passed(tests: Any) -> Outcome:
    core = [status == "passed" for name, status in tests if not name.endswith(_LESSER)]
    return "passed" if core and all(core) else "failed"


def _spoils(reports: dict[str, bytes]) -> str:
    try:
        tests = json.loads(reports["pytest-report.json"])["tests"]
    except (KeyError, ValueError):
        return ""
    shown = (test for test in tests if test["nodeid"].endswith("test_leaves_no_spoils"))
    return "".join(str(test["call"].get("longrepr", "")) for test in shown if test["outcome"] == "failed")

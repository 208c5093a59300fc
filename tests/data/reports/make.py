"""Runs every case with real pytest and keeps the reports and what our channel said.

    python -m tests.data.reports.make [NAME...]

Needs the development requirements and pytest-rerunfailures. Paths and the machine's name are taken out,
so that two machines make the same files but for times.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.data.reports.cases import CASES, IMPORTS, MODULE, Case

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
REPORTS = ("pytest-report.json", "ctrf-report.json")
PLUGINS = ("pytest_timeout", "pytest_jsonreport.plugin", "ctrf.main", "tests.data.reports.recorder")


def main(names: list[str]) -> None:
    """Make the named cases again, or all."""
    for case in CASES:
        if not names or case.name in names:
            print(case.name, flush=True)
            make(case)


def make(case: Case) -> None:
    """Run one case in a temporary project and keep what came out."""
    target = HERE / case.name
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        write_project(case, project)
        process = subprocess.run(
            command(case),
            cwd=project,
            env=environment(project),
            capture_output=True,
            timeout=60,
            check=False,
        )
        for name in REPORTS:
            keep(project / name, target / name, project)
        record = {
            "exit_code": process.returncode if process.returncode >= 0 else None,
            "signal": -process.returncode if process.returncode < 0 else None,
            "stdout": scrub(process.stdout, project).decode(errors="replace")[-2000:],
            "stderr": scrub(process.stderr, project).decode(errors="replace")[-2000:],
        }
        heard = project / "channel.jsonl"
        lines = scrub(heard.read_bytes(), project).splitlines() if heard.exists() else []
        (target / "run.json").write_text(json.dumps(record, indent=1) + "\n")
        (target / "channel.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))


def write_project(case: Case, project: Path) -> None:
    """Lay out the files of a case."""
    for path, text in {"pytest.ini": "[pytest]\n", MODULE: IMPORTS + case.source, **case.files}.items():
        file = project / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")


def command(case: Case) -> list[str]:
    """Call pytest as the grader does, as far as reports depend on it."""
    plugins = PLUGINS + (("pytest_rerunfailures",) if case.reruns else ())
    given = [sys.executable, "-m", "pytest", "-c", "pytest.ini", "-vv", "-p", "no:cacheprovider"]
    given += [word for plugin in plugins for word in ("-p", plugin)]
    given += ["--ctrf=ctrf-report.json", "--json-report", "--json-report-file=pytest-report.json"]
    given += ["--json-report-omit", "log", "streams", "warnings", "keywords", "--color=no"]
    return [*given, *case.options, *case.arguments]


def environment(project: Path) -> dict[str, str]:
    """A small environment that is the same everywhere."""
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "100",
        "CHANNEL": str(project / "channel.jsonl"),
    }


def keep(source: Path, target: Path, project: Path) -> None:
    """Keep a report, or the fact that there is none."""
    target.unlink(missing_ok=True)
    if source.is_file():
        target.write_bytes(scrub(source.read_bytes(), project))


def scrub(data: bytes, project: Path) -> bytes:
    """Take out what belongs to this machine."""
    for path, name in ((project, b"/project"), (ROOT, b"/engine"), (Path(sys.prefix), b"/toolchain")):
        for form in (path.resolve(), path):
            data = data.replace(str(form).encode(), name)
    data = data.replace(sys.base_prefix.encode() + b"/lib", b"/python/lib")
    return re.sub(rb'("os(?:Release|Version)": )"[^"]*"', rb'\1"-"', data)


if __name__ == "__main__":
    main(sys.argv[1:])

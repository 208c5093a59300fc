"""A first manifest for what lies around: problems, submissions, an environment."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from engine.problem import CONFIG_NAME, TESTS_NAME
from engine.sources import RUN_ENVIRONMENT
from engine.templates import find_matches, parse_template

_DEEPEST = 3
# What submissions look like, below a folder of theirs; the first that fits something is taken.
_RUN_LAYOUT = "{problem}/{checkpoint}/snapshot"
_LAYOUTS = ("{model}/{problem}/{checkpoint}/snapshot", _RUN_LAYOUT)
_HIDDEN_PLACES = ("node_modules", "__pycache__", "venv")


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to evaluate; paths relative to where the manifest will be."""

    problems: str | None = None
    submissions: str | None = None
    environment: str | None = None
    # Something to show how an explicit evaluation is written.
    problem: str = "my_problem"
    checkpoint: str = "checkpoint_1"


def discover(top: Path, home: Path) -> Found:
    """Look for problems and submissions below a folder, for a manifest that will lie in `home`."""
    problems = next((folder for folder in _folders(top, _DEEPEST) if _holds_problems(folder)), None)
    names = _problem_names(problems) if problems else frozenset[str]()
    if problems is not None:
        for folder, layout in _places_to_look(top):
            matches = (dict(match.values) for match in find_matches(parse_template(layout), str(folder)))
            values = next((values for values in matches if values["problem"] in names), None)
            if values is not None:
                environment = folder / RUN_ENVIRONMENT
                return Found(
                    problems=_relative(problems, home),
                    submissions=f"{_relative(folder, home)}/{layout}",
                    environment=_relative(environment, home) if environment.is_file() else None,
                    problem=values["problem"],
                    checkpoint=values["checkpoint"],
                )
    return Found(problems=_relative(problems, home))


def _places_to_look(top: Path) -> Iterator[tuple[Path, str]]:
    """Run directories that bring their environment first, then layouts without one."""
    folders = list(_folders(top, _DEEPEST))
    yield from ((folder, _RUN_LAYOUT) for folder in folders if (folder / RUN_ENVIRONMENT).is_file())
    yield from ((folder, layout) for layout in _LAYOUTS for folder in folders)


def first_manifest(found: Found, name: str, schema_name: str | None) -> str:
    """Write the text of a manifest for what was found, with comments for a newcomer."""
    return "\n".join(
        [*_head(name, schema_name), *_problems(found), *_environment(found), *_submissions(found), *_REST]
    )


def _head(name: str, schema_name: str | None) -> Iterator[str]:
    if schema_name is not None:
        yield f"# yaml-language-server: $schema={schema_name}"
    yield "# Check it: scbench check FILE. See what would run: scbench plan FILE. Run it: scbench run FILE."
    yield "version: 1"
    yield f"name: {_text(name)}"
    yield ""


def _problems(found: Found) -> Iterator[str]:
    yield "# The folder of the problems, each with a config.yaml and tests/. Paths are relative to this file."
    yield f"problems: {_text(found.problems or 'problems')}"
    yield ""


def _environment(found: Found) -> Iterator[str]:
    if found.environment is not None:
        yield "# What submissions run under: the environment that came with them."
        yield f"environment: {_text(found.environment)}"
        yield ""
        return
    yield from _PYTHON


def _submissions(found: Found) -> Iterator[str]:
    yield "# Every folder that fits is a submission; other placeholders than these become labels."
    yield "submissions:"
    path = found.submissions or "submissions/{model}/{problem}/{checkpoint}/snapshot"
    yield f"  - path: {_text(path)}"
    yield "# One by one:"
    yield "# evaluations:"
    entry = f"problem: {found.problem}, checkpoint: {found.checkpoint}, submission: ./mine"
    yield f"#   - {{{entry}, labels: {{model: mine}}}}"
    yield ""


_PYTHON = (
    "# What submissions run under.",
    "environment: python",
    "environments:",
    "  python:",
    "    image: python:3.12-slim",
    "    setup:",
    "      - run: uv pip install -r requirements.txt",
    "        inputs: [requirements.txt]   # prepared once for each content of these files",
    '    entrypoint: "python {entry_file}"',
    "",
)

_REST = (
    "# Everything below is the default: change what you need, remove the rest.",
    "policy: core-cases                  # passed: every Core test passed",
    "concurrency: auto                   # or {batch: 8, per_problem: 4, prepare: 2}",
    "timeouts: {session: 10m, setup: 5m, evaluation: 20m}",
    "retries: {infrastructure: 2, timeouts: alone}",
    "resources: {cpus: 1, memory: 2GiB, pids: 256, disk: 1GiB}",
    "output: runs",
    "",
)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _relative(path: Path | None, home: Path) -> str | None:
    return None if path is None else Path(os.path.relpath(path, home)).as_posix()


def _folders(top: Path, depth: int) -> Iterator[Path]:
    """A folder and those below it, nearest first."""
    level = [top]
    for _ in range(depth + 1):
        yield from level
        level = [one for folder in level for one in _below(folder)]


def _below(folder: Path) -> list[Path]:
    try:
        found = sorted(one for one in folder.iterdir() if one.is_dir() and not one.is_symlink())
    except OSError:
        return []
    return [one for one in found if not one.name.startswith(".") and one.name not in _HIDDEN_PLACES]


def _holds_problems(folder: Path) -> bool:
    return bool(_problem_names(folder))


def _problem_names(folder: Path) -> frozenset[str]:
    return frozenset(
        one.name for one in _below(folder) if (one / CONFIG_NAME).is_file() and (one / TESTS_NAME).is_dir()
    )

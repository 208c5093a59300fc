"""Which files of a submission a set-up command depends on.

Declared inputs are taken as they are. Where nothing is declared, a few plain commands say it themselves
(`TOOLS` below); everything that is not plainly one of them depends on the whole submission.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from engine.environment import SetupCommand

TOOLS: tuple[tuple[str, ...], ...] = (
    ("uv", "pip", "install"),
    ("uv", "pip", "sync"),
    ("uv", "add"),
    ("uv", "sync"),
    ("pip", "install"),
    ("pip3", "install"),
    ("python", "-m", "pip", "install"),
    ("python3", "-m", "pip", "install"),
)

# Files that uv looks at by itself, wherever it runs.
_PROJECT_FILES = ("pyproject.toml", "uv.lock", "uv.toml", ".python-version")
_FLAGS = re.compile(
    r"-[qvU]|--(quiet|verbose|upgrade|pre|raw|dev|no-dev|all-extras|all-groups|frozen|locked|exact|strict"
    r"|system|no-deps|no-cache|no-cache-dir|no-progress|no-input|no-sync|no-install-project|require-hashes"
    r"|compile-bytecode|prefer-binary|break-system-packages|disable-pip-version-check)"
)
_FILE_OPTIONS = ("-r", "--requirement", "--requirements", "-c", "--constraint", "--constraints")
_SHELL = re.compile(r"[;&|<>$`*?\[\](){}~#\\\n]")
# A name, perhaps with extras and versions: nothing that could be a path or an address.
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._, -]*\])?\s*([=<>!~].*)?(;.*)?")
_FROM_ADDRESS = re.compile(r"\S+\s*@\s*(git\+)?https?://.*")
# No list of requirements is longer, and a submission must not fill this machine's memory.
_LARGEST = 1 << 20
_LOCAL_PROJECT = re.compile(r"^\s*\[\s*(build-system|tool\.uv\.(sources|workspace))", re.MULTILINE)


def input_files(command: SetupCommand, submission: Path) -> tuple[str, ...] | None:
    """Name the files that the command depends on; None means the whole submission."""
    if command.inputs is not None:
        return tuple(sorted(_declared(command.inputs, submission)))
    arguments = _plain_arguments(command.run)
    if arguments is None:
        return None
    tool, rest = arguments
    mains = _files_named(rest)
    if mains is None:
        return None
    uses_project = tool in (("uv", "add"), ("uv", "sync"))
    if not mains and tool != ("uv", "sync"):
        return None
    if uses_project and _builds_itself(submission):
        return None
    found = _with_references(mains, submission)
    if found is None:
        return None
    project = [name for name in _PROJECT_FILES if _is_plain_file(submission / name)]
    return tuple(sorted({*found, *project}))


def _declared(patterns: Sequence[str], submission: Path) -> Iterator[str]:
    for pattern in patterns:
        for path in submission.glob(pattern) if re.search(r"[*?\[]", pattern) else [submission / pattern]:
            if path.is_dir() and not path.is_symlink():
                yield from (str(one.relative_to(submission)) for one in path.rglob("*") if not one.is_dir())
            else:
                yield str(path.relative_to(submission))


def _plain_arguments(command: str) -> tuple[tuple[str, ...], list[str]] | None:
    if _SHELL.search(command):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    for tool in TOOLS:
        if tuple(words[: len(tool)]) == tool:
            return tool, words[len(tool) :]
    return None


def _files_named(words: Sequence[str]) -> list[str] | None:
    """The requirement files among the arguments; None where an argument is not plain."""
    files, pending = [], iter(words)
    for word in pending:
        option, equals, value = word.partition("=")
        if option in _FILE_OPTIONS:
            files.append(value if equals else next(pending, ""))
        elif word[:2] in ("-r", "-c") and not word.startswith("--"):
            files.append(word[2:])
        elif not _FLAGS.fullmatch(word) and not _REQUIREMENT.fullmatch(word):
            return None
    return files if all(files) else None


def _with_references(mains: Sequence[str], submission: Path) -> set[str] | None:
    """The files and whatever they refer to; None where they install something of the submission."""
    found: set[str] = set()
    pending = list(mains)
    while pending:
        name = posixpath.normpath(pending.pop())
        if name in found:
            continue
        if name.startswith(("/", "..")) or _through_link(submission, name):
            return None
        found.add(name)
        references = _references(submission / name)
        if references is None:
            return None
        pending += [str(PurePosixPath(name).parent / reference) for reference in references]
    return found


def _references(path: Path) -> list[str] | None:
    if not path.is_file():
        return []
    if path.stat().st_size > _LARGEST:
        return None
    text = path.read_text("utf-8", "replace").replace("\\\n", " ")
    references = []
    for line in (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines()):
        match = re.match(r"(?:-r|-c|--requirement|--constraint)[\s=]*(\S+)$", line)
        if match:
            references.append(match[1])
        elif line and not _installs_from_index(line):
            return None
    return references


def _installs_from_index(line: str) -> bool:
    if line.startswith("-"):
        return re.match(r"(--index-url|-i|--extra-index-url|--pre)\b", line) is not None
    requirement = re.split(r"\s--hash", line)[0]
    return bool(_REQUIREMENT.fullmatch(requirement) or _FROM_ADDRESS.fullmatch(requirement))


def _builds_itself(submission: Path) -> bool:
    project = submission / "pyproject.toml"
    if not project.is_file():
        return False
    if project.stat().st_size > _LARGEST:
        return True
    return bool(_LOCAL_PROJECT.search(project.read_text("utf-8", "replace")))


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _through_link(submission: Path, name: str) -> bool:
    path = submission
    for part in PurePosixPath(name).parts:
        path = path / part
        if path.is_symlink():
            return True
    return False

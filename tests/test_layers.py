"""Imports point strictly downwards; this picture is the architecture."""

import ast
from pathlib import Path

import engine

ENGINE = Path(engine.__file__).parent

# A module imports only from rows below its own.
PICTURE = """
17  cli.run
16  batch
15  cli.doctor narration
14  cli.debug diagnosis execution
13  cli.clean cli.plan runner
12  sandbox.choice
11  sandbox.docker
10  foresight sandbox.daemon
 9  cli.show expectations prepare progress sandbox.local sandbox.probe
 8  boardview cli.check cli.compare cli.init integrity lines sandbox.containers sandbox.uvprogram
 7  board cli.report cli.runs cli.schema cli.sources disagreements endings explain plan preparations
    sandbox.launch sandbox.shell witnesses
 6  catalogue evaluation evidence firstmanifest locks manifest sandbox.wire schemas throttle
    views.formats workspace
 5  environmentfile manifestdocument problem sandbox setupinputs views.compared views.html
 4  cli.judge comparison environment sources views.csv views.htmldata views.jsonview views.junit
    views.markdown
 3  reports resume scheduler views.run views.terminal yamlfile
 2  journal reports.ctrf reports.pytest_json rundirectory sinks templates views.leaderboard work yamltree
 1  cli events grading mistakes reports.document retries store
 0  admission cli.completion durations errors host owner paths positions quantities results significance
    treehash views views.text window
"""


def rows() -> dict[str, int]:
    """Read the picture: the row of every module."""
    found: dict[str, int] = {}
    row = 0
    for line in PICTURE.strip("\n").splitlines():
        words = line.split()
        if words[0].isdigit():
            row = int(words.pop(0))
        found |= dict.fromkeys(words, row)
    return found


def modules() -> dict[str, Path]:
    """Find every module of the engine, but for the package itself and what runs inside containers."""
    found = {}
    for path in ENGINE.rglob("*.py"):
        parts = path.relative_to(ENGINE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name and parts[0] != "inside":
            found[name] = path
    return found


def imports(path: Path, known: set[str]) -> set[str]:
    """Name the modules of the engine that a file imports, wherever in the file it does."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "engine":
            base = (node.module or "").removeprefix("engine").lstrip(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".lstrip(".")
                found.add(inner if inner in known else base)
        elif isinstance(node, ast.Import):
            found.update(a.name.removeprefix("engine.") for a in node.names if a.name.startswith("engine."))
    return {name for name in found if name in known}


def test_every_module_is_in_the_picture() -> None:
    """A new module gets its row before it gets its first import."""
    assert set(rows()) == set(modules())


def test_imports_point_downwards() -> None:
    """No module imports from its own row or from one above it."""
    row = rows()
    wrong = [
        f"{name} (row {row[name]}) imports {other} (row {row[other]})"
        for name, path in modules().items()
        for other in imports(path, set(row))
        if other != name and row[other] >= row[name]
    ]
    assert not wrong

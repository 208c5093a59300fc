"""Rules about the code itself, held by tests."""

import ast
import sys
from pathlib import Path

import engine

ENGINE = Path(engine.__file__).parent


def imported_names(path: Path) -> set[str]:
    """Return the full names of everything that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
    return names


def test_public_names_are_exactly_all() -> None:
    """What the package offers is what `__all__` says: each name loads, and there are no others."""
    assert engine.__all__ == sorted(engine.__all__, key=lambda name: (name.lower() == name, name))
    for name in engine.__all__:
        assert getattr(engine, name).__module__.startswith("engine.")
    assert set(engine._HOMES) == set(engine.__all__)


def test_importing_the_package_loads_nothing_else() -> None:
    """`import engine` costs nothing: its names are loaded when they are first used."""
    tree = ast.parse((ENGINE / "__init__.py").read_text("utf-8"))
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {alias.name for node in top for alias in node.names} <= {"importlib", "TYPE_CHECKING"}


def test_only_one_file_of_the_docker_sandbox_knows_aiodocker() -> None:
    """Foreign errors of the daemon are translated at one edge."""
    users = {
        path.relative_to(ENGINE).as_posix()
        for path in ENGINE.rglob("*.py")
        if any(name.partition(".")[0] == "aiodocker" for name in imported_names(path))
    }
    assert users == {"sandbox/daemon.py"}


def test_code_inside_containers_needs_only_the_standard_library() -> None:
    """Any image with Python will do: what runs inside imports nothing that may be missing there."""
    brought_along = {"pytest", "_pytest"}  # by the prepared toolchain
    for path in (ENGINE / "inside").glob("*.py"):
        foreign = {name.partition(".")[0] for name in imported_names(path)} - set(sys.stdlib_module_names)
        assert foreign <= brought_along, path.name


def test_code_inside_containers_is_sent_completely() -> None:
    """Every module of `inside` is in the bundle, so that none is missing in the container."""
    from engine.inside import MODULES

    assert set(MODULES) == {path.stem for path in (ENGINE / "inside").glob("*.py")} - {"__init__"}

"""What the commands that read manifests have in common: their arguments, and how these become a batch."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from engine.manifest import Manifest, load_manifests
from engine.sources import Given
from engine.yamlfile import Document, read_bytes

Command = TypeVar("Command", bound=Callable[..., object])

_FOLDER = click.Path(path_type=Path)


def source_options(command: Command) -> Command:
    """Add MANIFEST..., --problems and --environment to a command."""
    command = click.option(
        "--environment", type=_FOLDER, metavar="FILE", help="Use this environment for everything."
    )(command)
    command = click.option(
        "--problems", type=_FOLDER, metavar="DIR", help="The problems; a run directory needs it."
    )(command)
    return click.argument("manifests", nargs=-1, required=True, metavar="MANIFEST...", type=_FOLDER)(command)


def load_sources(manifests: tuple[Path, ...], problems: Path | None, environment: Path | None) -> Manifest:
    """Read manifests, run directories and, as `-`, standard input."""
    given = Given(problems=problems, environment=environment)
    return load_manifests([_source(path, given) for path in manifests], given)


def _source(path: Path, given: Given) -> Path | Document:
    if str(path) != "-":
        return path
    data = sys.stdin.buffer.read()
    return read_bytes(data, name="standard input", folder=Path.cwd(), variables=given.environ())

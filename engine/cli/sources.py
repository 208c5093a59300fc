"""What the commands that read manifests have in common: their arguments, and how these become a batch."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from engine.errors import Place
from engine.manifest import Manifest, load_manifests, load_what_fits
from engine.sources import Given
from engine.yamlfile import Document, read_bytes

STANDARD_INPUT = Path("-")

_PATH = click.Path(path_type=Path)


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """What was named on the command line: manifests, run directories and, as `-`, standard input."""

    manifests: tuple[Path, ...]
    problems: Path | None = None
    environment: Path | None = None

    def load(self) -> Manifest:
        """Read everything that was named into one batch."""
        return load_manifests(*self._read())

    def load_what_fits(self) -> tuple[Manifest | None, tuple[Place, ...]]:
        """Read as much as can be understood, and tell everything that cannot."""
        return load_what_fits(*self._read())

    def _read(self) -> tuple[list[Path | Document], Given]:
        given = Given(problems=self.problems, environment=self.environment)
        return [_source(path, given) for path in self.manifests], given


def source_options(command: Callable[..., object]) -> Callable[..., object]:
    """Add MANIFEST..., --problems and --environment to a command, which gets them as `sources`."""

    @functools.wraps(command)
    def with_sources(
        manifests: tuple[Path, ...], problems: Path | None, environment: Path | None, **rest: object
    ) -> object:
        sources = Sources(manifests=manifests, problems=problems, environment=environment)
        return command(sources=sources, **rest)

    options = (
        click.argument("manifests", nargs=-1, required=True, metavar="MANIFEST...", type=_PATH),
        click.option("--problems", type=_PATH, metavar="DIR", help="The problems; a run directory needs it."),
        click.option(
            "--environment", type=_PATH, metavar="FILE", help="Use this environment for everything."
        ),
    )
    decorated: Callable[..., object] = with_sources
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def _source(path: Path, given: Given) -> Path | Document:
    if path != STANDARD_INPUT:
        return path
    data = sys.stdin.buffer.read()
    return read_bytes(data, name="standard input", folder=Path.cwd(), variables=given.environ())

"""A problem: a directory with `config.yaml` and `tests/`, whose checkpoints have an order.

`load_problem` reads one and checks everything that can be checked without running it. Keys that are
unknown are let pass with a warning, so that problems made for other tools work unchanged.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from engine.environment import Anything, NonEmpty, Scalar, variables_of
from engine.errors import DocumentError, Place, UserError
from engine.mistakes import nearest, nearest_file, shown_path
from engine.positions import Keys
from engine.quantities import Duration, seconds
from engine.results import GroupType
from engine.yamlfile import Document, Layers, convert, read, tolerated

CONFIG_NAME = "config.yaml"
TESTS_NAME = "tests"

Group = Annotated[
    str,
    Meta(
        pattern="^([Cc][Oo][Rr][Ee]|[Ee][Rr][Rr][Oo][Rr]|[Rr][Ee][Gg][Rr][Ee][Ss][Ss][Ii][Oo][Nn]"
        "|[Ff][Uu][Nn][Cc][Tt][Ii][Oo][Nn][Aa][Ll][Ii][Tt][Yy])$",
        extra={"expected": "one of `Core`, `Functionality`, `Regression`, `Error`"},
    ),
]
_MARKER_NAME = re.compile(r"[A-Za-z_]\w*")


class MarkerDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A marker of the problem's own, as written."""

    group: Group
    description: str = ""


class AssetDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder that goes along with the tests, as written."""

    path: NonEmpty


class CheckpointDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A stage of a problem, as written."""

    version: Scalar = 1
    order: float | None = None
    timeout: Duration | None = None
    env: dict[str, Scalar] | None = None
    include_prior_tests: bool = True
    state: Anything = None


class ProblemDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The file `config.yaml` of a problem, as written."""

    name: NonEmpty
    entry_file: NonEmpty
    checkpoints: Annotated[dict[str, CheckpointDocument | None], Meta(min_length=1)]
    version: Scalar = 1
    description: str | None = None
    tags: tuple[Scalar, ...] | str | None = None
    author: str | None = None
    category: str | None = None
    difficulty: Scalar | None = None
    timeout: Duration | None = None
    env: dict[str, Scalar] | None = None
    static_assets: dict[str, AssetDocument | str] | None = None
    markers: dict[str, MarkerDocument] | None = None
    test_dependencies: tuple[NonEmpty, ...] | None = None
    imports_submission: bool = False


class MarkerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A marker of the problem's own and the group that it puts a test into."""

    description: str
    group: GroupType


class CheckpointConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A stage of a problem."""

    name: str
    version: str = "1"
    timeout: float | None = None
    env: tuple[tuple[str, str], ...] = ()
    include_prior_tests: bool = True

    @property
    def test_module(self) -> str:
        """The file below `tests/` that holds this checkpoint's tests."""
        return f"test_{self.name}.py"


class ProblemConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A problem, checked; its checkpoints in order."""

    name: str
    path: Path
    entry_file: str
    checkpoints: tuple[CheckpointConfig, ...]
    version: str = "1"
    description: str = ""
    tags: tuple[str, ...] = ()
    author: str = ""
    category: str = ""
    difficulty: str = ""
    timeout: float | None = None
    env: tuple[tuple[str, str], ...] = ()
    static_assets: Mapping[str, Path] = {}
    markers: Mapping[str, MarkerConfig] = {}
    test_dependencies: tuple[str, ...] = ()
    imports_submission: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def tests(self) -> Path:
        """The folder of this problem's tests."""
        return self.path / TESTS_NAME

    def checkpoint(self, name: str) -> CheckpointConfig:
        """The checkpoint of this name; raise UserError where there is none."""
        for checkpoint in self.checkpoints:
            if checkpoint.name == name:
                return checkpoint
        hint = nearest(name, [checkpoint.name for checkpoint in self.checkpoints])
        raise UserError(f"problem `{self.name}` has no checkpoint `{name}`: {hint}")

    def prior(self, name: str) -> tuple[CheckpointConfig, ...]:
        """The checkpoints that come before this one."""
        return self.checkpoints[: self.checkpoints.index(self.checkpoint(name))]

    def test_modules(self, name: str) -> Mapping[str, str]:
        """The test modules that run for this checkpoint, prior ones first, each with its checkpoint."""
        current = self.checkpoint(name)
        prior = self.prior(name) if current.include_prior_tests else ()
        return {checkpoint.test_module: checkpoint.name for checkpoint in (*prior, current)}

    def later_modules(self, name: str) -> tuple[str, ...]:
        """The test modules of later checkpoints, which do not go along."""
        position = self.checkpoints.index(self.checkpoint(name))
        return tuple(checkpoint.test_module for checkpoint in self.checkpoints[position + 1 :])

    def timeout_for(self, name: str) -> float | None:
        """The limit of one test in seconds, where checkpoint or problem set one."""
        return self.checkpoint(name).timeout or self.timeout

    def env_for(self, name: str) -> tuple[tuple[str, str], ...]:
        """The variables of the problem with those of the checkpoint on top."""
        return tuple(sorted({**dict(self.env), **dict(self.checkpoint(name).env)}.items()))


def load_problem(path: Path) -> ProblemConfig:
    """Read a problem; raise UserError or DocumentError with everything that is wrong with it."""
    config = path / CONFIG_NAME
    if not config.is_file():
        raise UserError(f"{path}: not a problem: there is no {CONFIG_NAME} in it")
    document = read(config)
    written = convert(document, ProblemDocument)
    places = [place for check in _CHECKS for place in check(document, path, written)]
    if places:
        raise DocumentError(tuple(sorted(places, key=lambda place: (place.line, place.column))))
    return _resolved(path, document, written)


def _resolved(path: Path, document: Document, written: ProblemDocument) -> ProblemConfig:
    layers = Layers([document])
    tags = (written.tags,) if isinstance(written.tags, str) else written.tags
    return ProblemConfig(
        name=written.name,
        path=path.resolve(),
        entry_file=written.entry_file,
        checkpoints=_ordered(layers, written),
        version=str(written.version),
        description=written.description or "",
        tags=tuple(map(str, tags or ())),
        author=written.author or "",
        category=written.category or "",
        difficulty=str(written.difficulty or ""),
        timeout=_optional_seconds(written.timeout),
        env=variables_of(layers, ("env",), written.env or {}),
        static_assets={
            name: (path / _asset_path(asset)).resolve()
            for name, asset in (written.static_assets or {}).items()
        },
        markers={
            name: MarkerConfig(description=marker.description, group=GroupType(marker.group.capitalize()))
            for name, marker in (written.markers or {}).items()
        },
        test_dependencies=written.test_dependencies or (),
        imports_submission=written.imports_submission,
        warnings=tuple(_warning(place) for place in tolerated(document, ProblemDocument)),
    )


def _ordered(layers: Layers, written: ProblemDocument) -> tuple[CheckpointConfig, ...]:
    """By `order`, then by position; those that say no order keep their position among the others."""
    named = [(name, one or CheckpointDocument()) for name, one in written.checkpoints.items()]
    ranked = sorted(
        enumerate(named, 1),
        key=lambda entry: (entry[0] if entry[1][1].order is None else entry[1][1].order, entry[0]),
    )
    return tuple(
        CheckpointConfig(
            name=name,
            version=str(one.version),
            timeout=_optional_seconds(one.timeout),
            env=variables_of(layers, ("checkpoints", name, "env"), one.env or {}),
            include_prior_tests=one.include_prior_tests,
        )
        for _, (name, one) in ranked
    )


def _optional_seconds(duration: str | float | None) -> float | None:
    return None if duration is None else seconds(duration)


def _asset_path(asset: AssetDocument | str) -> str:
    return asset if isinstance(asset, str) else asset.path


def _warning(place: Place) -> str:
    advice = f" ({place.hint})" if place.hint.startswith("did you mean") else ""
    return f"{place.file}:{place.line}:{place.column}: {place.message}{advice}"


def _check_tests(document: Document, path: Path, written: ProblemDocument) -> Iterator[Place]:
    tests = path / TESTS_NAME
    if not tests.is_dir():
        yield document.place((), f"there is no folder `{TESTS_NAME}` beside this file", "add it")
        return
    for name in written.checkpoints:
        keys: Keys = ("checkpoints", name)
        if not _is_one_component(name):
            message = f"`{name}` cannot be the name of a checkpoint"
            yield document.place(keys, message, "it is part of a file name: no / in it", at_key=True)
        elif not (tests / f"test_{name}.py").is_file():
            modules = [one.name for one in tests.glob("test_*.py")]
            message = f"checkpoint `{name}` has no {TESTS_NAME}/test_{name}.py"
            yield document.place(keys, message, nearest(f"test_{name}.py", modules), at_key=True)


def _check_assets(document: Document, path: Path, written: ProblemDocument) -> Iterator[Place]:
    for name, asset in (written.static_assets or {}).items():
        keys: Keys = ("static_assets", name)
        at_path: Keys = keys if isinstance(asset, str) else (*keys, "path")
        target = path / _asset_path(asset)
        if not _is_one_component(name):
            message = f"`{name}` cannot be the name of an asset"
            yield document.place(keys, message, "it is the name of a file: no / in it", at_key=True)
        if not target.resolve().is_relative_to(path.resolve()):
            message = f"`{_asset_path(asset)}` leaves the problem's directory"
            yield document.place(at_path, message, "copy the asset into the problem")
        elif not target.exists():
            yield document.place(
                at_path, f"no such file or folder: {shown_path(target)}", nearest_file(target)
            )


def _check_names(document: Document, _path: Path, written: ProblemDocument) -> Iterator[Place]:
    for name in written.markers or {}:
        if not _MARKER_NAME.fullmatch(name):
            hint = "letters, digits and _ only, as in @pytest.mark.NAME"
            message = f"`{name}` cannot be the name of a marker"
            yield document.place(("markers", name), message, hint, at_key=True)
    for index, requirement in enumerate(written.test_dependencies or ()):
        if requirement.lstrip().startswith("-") or "\n" in requirement:
            message = f"`{requirement}` is not a requirement"
            yield document.place(("test_dependencies", index), message, "write it as `name` or `name>=1.2`")
    if written.entry_file.startswith(("/", "-")) or ".." in Path(written.entry_file).parts:
        message = f"`{written.entry_file}` leaves the submission"
        yield document.place(("entry_file",), message, "a file of the submission, relative to its top")


_CHECKS = (_check_tests, _check_assets, _check_names)


def _is_one_component(name: str) -> bool:
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name

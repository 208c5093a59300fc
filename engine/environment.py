"""What a submission runs under: image, set-up, entry command, limits.

Two forms are read: the native one (`EnvironmentDocument`) and SCBench's (`ScbenchEnvironmentDocument`:
`type: docker`, `docker: {...}`, `commands: {...}`). `engine/environmentfile.py` makes an `EnvironmentSpec`
of either.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.errors import DocumentError
from engine.positions import Keys
from engine.quantities import Size, size_in_bytes
from engine.yamlfile import Layers

SandboxName = Literal["docker", "local"]
HideTests = Literal["modules", "all", "none"]
Mode = Literal["prepared", "uvx"]

# What people write where text is meant but a number or a switch is as clear: `PORT: 8080`.
Scalar = Annotated[str | int | float | bool, Meta(extra={"expected": "text, a number, `true` or `false`"})]
# What other tools put there and the engine does not look at.
Anything = Annotated[object, Meta(extra_json_schema={"description": "Not looked at."})]
NonEmpty = Annotated[str, Meta(min_length=1)]

_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Resources(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one evaluation may use; sizes in bytes."""

    cpus: float = 1.0
    memory: int = 2 * 1024**3
    pids: int = 256
    disk: int = 1024**3
    shared_memory: int = 64 * 1024**2
    open_files: int = 1024


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Time limits of one evaluation in seconds, inner ones first."""

    command: float | None = None
    test: float = 30.0
    session: float = 600.0
    setup: float = 300.0
    evaluation: float = 1200.0


class SetupCommand(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command that prepares the submission's environment.

    `inputs` are the files that its result depends on; None means that nobody said so: `setup_inputs`
    finds them where the command makes them plain, else the whole submission is the input.
    """

    run: str
    inputs: tuple[str, ...] | None = None


class EnvironmentSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything about an environment, resolved: the value that runner and sandbox work from."""

    name: str = "default"
    sandbox: SandboxName = "docker"
    image: str = "python:3.12-slim"
    python: str = "python3"
    setup: tuple[SetupCommand, ...] = ()
    # {entry_file} is replaced by the problem's entry file; see `entry_command`.
    entrypoint: str = "python {entry_file}"
    # SCBench's form names the file itself ("{entry_file}.py"); natively a suffix is added where none is.
    entry_file: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    resources: Resources = Resources()
    network: str = "none"
    runtime: str | None = None
    hide_tests: HideTests = "modules"
    mode: Mode = "prepared"
    # A file of exact versions (name==version lines) that test toolchain and set-up are held to.
    lock: str | None = None
    # What was read but is not followed, for people; never part of a fingerprint.
    warnings: tuple[str, ...] = ()


class ResourcesDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one evaluation may use, as far as it is said."""

    cpus: Annotated[float, Meta(gt=0, le=4096)] | None = None
    memory: Size | None = None
    pids: Annotated[int, Meta(ge=16)] | None = None
    disk: Size | None = None
    shared_memory: Size | None = None
    open_files: Annotated[int, Meta(ge=64)] | None = None


class SetupDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A set-up command and the files that its result depends on."""

    run: NonEmpty
    inputs: tuple[NonEmpty, ...] | None = None


class EnvironmentDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An environment in the native form."""

    image: NonEmpty = "python:3.12-slim"
    python: NonEmpty = "python3"
    setup: tuple[NonEmpty | SetupDocument, ...] = ()
    entrypoint: NonEmpty = "python {entry_file}"
    env: dict[str, Scalar] = {}
    resources: ResourcesDocument = ResourcesDocument()
    network: Literal["none", "bridge"] = "none"
    sandbox: SandboxName = "docker"
    runtime: NonEmpty | None = None
    hide_tests: HideTests = "modules"
    mode: Mode = "prepared"
    lock: NonEmpty | None = None


class ScbenchDocker(msgspec.Struct, frozen=True, kw_only=True):
    """The `docker` part of an environment in SCBench's form."""

    image: NonEmpty
    workdir: str = "/workspace"
    user: Scalar | None = None
    network: str | None = None
    extra_mounts: dict[str, Anything] | tuple[Anything, ...] | None = None


class ScbenchVariables(msgspec.Struct, frozen=True, kw_only=True):
    """The `environment` part of an environment in SCBench's form."""

    env: dict[str, Scalar] = {}


class ScbenchSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The `setup` part of an environment in SCBench's form."""

    commands: tuple[NonEmpty, ...] | None = ()
    eval_commands: tuple[NonEmpty, ...] | None = ()


class ScbenchCommands(msgspec.Struct, frozen=True, kw_only=True):
    """The `commands` part of an environment in SCBench's form."""

    command: NonEmpty = "python"
    entry_file: NonEmpty = "{entry_file}"


class ScbenchEnvironmentDocument(msgspec.Struct, frozen=True, kw_only=True):
    """An environment in SCBench's form; keys that the engine does not know are let pass."""

    type: Literal["docker", "local"]
    name: NonEmpty | None = None
    docker: ScbenchDocker | None = None
    environment: ScbenchVariables | None = None
    setup: ScbenchSetup | None = None
    commands: ScbenchCommands = ScbenchCommands()


def resolve_resources(*said: ResourcesDocument) -> Resources:
    """Lay what is said over the defaults, later over earlier."""
    chosen: dict[str, float] = {}
    for document in said:
        for name in document.__struct_fields__:
            value: str | float | None = getattr(document, name)
            if value is not None:
                chosen[name] = size_in_bytes(value) if isinstance(value, str) else value
    return msgspec.convert(chosen, Resources)


def entry_command(spec: EnvironmentSpec, entry_file: str) -> str:
    """The command that runs a submission whose problem names this entry file."""
    if spec.entry_file is None:
        name = entry_file if Path(entry_file).suffix else f"{entry_file}.py"
    else:
        # Problems that write the suffix themselves work with templates that add it.
        suffix = Path(spec.entry_file).suffix
        stem = entry_file.removesuffix(suffix) if spec.entry_file == f"{{entry_file}}{suffix}" else entry_file
        name = spec.entry_file.replace("{entry_file}", stem)
    return spec.entrypoint.replace("{entry_file}", name)


def spoken_scalar(value: Scalar) -> str:
    """A scalar as text, as its author would write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def variables_of(layers: Layers, keys: Keys, values: Mapping[str, Scalar]) -> tuple[tuple[str, str], ...]:
    """The variables of an `env` mapping as sorted text; raise DocumentError for names that cannot be."""
    places = [
        layers.place((*keys, name), f"`{name}` cannot be the name of a variable", _NAME_HINT, at_key=True)
        for name in values
        if not _VARIABLE_NAME.fullmatch(name)
    ]
    places += [
        layers.place((*keys, name), f"`{name}`: a value cannot contain a null character")
        for name, value in values.items()
        if "\0" in str(value)
    ]
    if places:
        raise DocumentError(tuple(places))
    return tuple(sorted((name, exact_text(layers, (*keys, name), value)) for name, value in values.items()))


_NAME_HINT = "letters, digits and _ only, and no digit first"


def exact_text(layers: Layers, keys: Keys, value: Scalar) -> str:
    """A scalar as it was written, so that 1.10 does not become 1.1."""
    if isinstance(value, float):
        return layers.origin(keys).written(keys) or str(value)
    return spoken_scalar(value)

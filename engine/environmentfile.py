"""Environments as people write them, in the native form or in SCBench's, to `EnvironmentSpec`."""

import re
from collections.abc import Mapping
from pathlib import Path

from engine.environment import (
    EnvironmentDocument,
    EnvironmentSpec,
    ResourcesDocument,
    ScbenchDocker,
    ScbenchEnvironmentDocument,
    ScbenchSetup,
    SetupCommand,
    SetupDocument,
    resolve_resources,
    variables_of,
)
from engine.errors import DocumentError, Place
from engine.mistakes import Tree, nearest_file, shown_path
from engine.positions import Keys
from engine.yamlfile import Layers, convert, read, tolerated

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NOTHING_SAID = ResourcesDocument()


def load_environment(path: Path, variables: Mapping[str, str] | None = None) -> EnvironmentSpec:
    """Read an environment from a file of its own, in either form."""
    return parse_environment(Layers([read(path, variables)]), (), path.stem)


def parse_environment(
    layers: Layers, keys: Keys, name: str, defaults: ResourcesDocument = _NOTHING_SAID
) -> EnvironmentSpec:
    """Turn the values at these keys into an environment; `defaults` are resources it may override."""
    if is_scbench_form(layers.get(keys)):
        return _from_scbench(layers, keys, name, defaults)
    return _from_native(layers, keys, name, defaults)


def is_scbench_form(tree: Tree) -> bool:
    """Whether a mapping is an environment in SCBench's form."""
    return isinstance(tree, dict) and bool(tree.keys() & {"type", "docker", "commands"})


def _from_native(layers: Layers, keys: Keys, name: str, defaults: ResourcesDocument) -> EnvironmentSpec:
    written = convert(layers, EnvironmentDocument, keys)
    places = [*_template_places(layers, (*keys, "entrypoint"), written.entrypoint)]
    places += _input_places(layers, keys, written.setup)
    if places:
        raise DocumentError(tuple(places))
    return EnvironmentSpec(
        name=name,
        sandbox=written.sandbox,
        image=written.image,
        python=written.python,
        setup=tuple(_setup_command(one) for one in written.setup),
        entrypoint=written.entrypoint,
        env=variables_of(layers, (*keys, "env"), written.env),
        resources=resolve_resources(defaults, written.resources),
        network=written.network,
        runtime=written.runtime,
        hide_tests=written.hide_tests,
        mode=written.mode,
        lock=_lock_path(layers, keys, written.lock),
    )


def _from_scbench(layers: Layers, keys: Keys, name: str, defaults: ResourcesDocument) -> EnvironmentSpec:
    written = convert(layers, ScbenchEnvironmentDocument, keys)
    docker = written.docker
    if written.type == "docker" and docker is None:
        place = layers.place(keys, "`docker` is missing", "say at least docker: {image: ...}")
        raise DocumentError((place,))
    template = written.commands.entry_file
    places = [*_template_places(layers, (*keys, "commands", "entry_file"), template)]
    places += _mount_places(layers, keys, docker)
    if places:
        raise DocumentError(tuple(places))
    setup = written.setup or ScbenchSetup()
    variables = written.environment.env if written.environment else {}
    return EnvironmentSpec(
        name=written.name or name,
        sandbox=written.type,
        image=docker.image if docker else EnvironmentSpec().image,
        setup=tuple(SetupCommand(run=run) for run in (*(setup.commands or ()), *(setup.eval_commands or ()))),
        entrypoint=f"{written.commands.command} {{entry_file}}",
        entry_file=template,
        env=variables_of(layers, (*keys, "environment", "env"), variables),
        resources=resolve_resources(defaults),
        warnings=(*_scbench_warnings(written), *map(_unknown, _ignored(layers, keys))),
    )


def _ignored(layers: Layers, keys: Keys) -> tuple[Place, ...]:
    return tolerated(layers, ScbenchEnvironmentDocument, keys)


def _unknown(place: Place) -> str:
    return f"{place.file}:{place.line}:{place.column}: {place.message}, which is not followed"


def _scbench_warnings(written: ScbenchEnvironmentDocument) -> list[str]:
    warnings = []
    if written.type == "local":
        warnings.append("`type: local` runs submissions without isolation")
    if (docker := written.docker) is None:
        return warnings
    if docker.workdir != "/workspace":
        warnings.append(f"`docker.workdir: {docker.workdir}` is not followed: submissions run in /workspace")
    if docker.user is not None:
        warnings.append(f"`docker.user: {docker.user}` is not followed: each slot has a user of its own")
    if docker.network not in (None, "none"):
        warnings.append(f"`docker.network: {docker.network}` is not followed: tests run without a network")
    if docker.extra_mounts:
        warnings.append("`docker.extra_mounts` are not followed: containers see no folder of this machine")
    return warnings


def _mount_places(layers: Layers, keys: Keys, docker: ScbenchDocker | None) -> list[Place]:
    mounts = docker.extra_mounts if docker else None
    if not isinstance(mounts, dict):
        return []
    return [
        layers.place(
            (*keys, "docker", "extra_mounts", source),
            f"`{source}` would be writable by the submission",
            "write `mode: ro`, or remove the mount",
        )
        for source, mount in mounts.items()
        if isinstance(mount, dict) and mount.get("mode", "rw") != "ro"
    ]


def _template_places(layers: Layers, keys: Keys, template: str) -> list[Place]:
    wrong = [name for name in _PLACEHOLDER.findall(template) if name != "entry_file"]
    hint = "the only placeholder is {entry_file}"
    return [layers.place(keys, f"unknown placeholder {{{name}}}", hint) for name in wrong]


def _input_places(layers: Layers, keys: Keys, setup: tuple[str | SetupDocument, ...]) -> list[Place]:
    return [
        layers.place(
            (*keys, "setup", index, "inputs", number),
            f"`{name}` leaves the submission",
            "inputs are files of the submission, relative to its top",
        )
        for index, command in enumerate(setup)
        if isinstance(command, SetupDocument)
        for number, name in enumerate(command.inputs or ())
        if name.startswith("/") or ".." in Path(name).parts
    ]


def _setup_command(written: str | SetupDocument) -> SetupCommand:
    if isinstance(written, str):
        return SetupCommand(run=written)
    return SetupCommand(run=written.run, inputs=written.inputs)


def _lock_path(layers: Layers, keys: Keys, lock: str | None) -> str | None:
    if lock is None:
        return None
    path = layers.origin((*keys, "lock")).folder / lock
    if not path.is_file():
        message = f"no such file: {shown_path(path)}"
        raise DocumentError((layers.place((*keys, "lock"), message, nearest_file(path)),))
    return str(path.resolve())

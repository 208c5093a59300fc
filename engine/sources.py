"""Where a manifest comes from: a file with what it includes, a run directory, options of a command."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from engine.errors import DocumentError, UserError
from engine.mistakes import Tree, nearest_file, shown_path
from engine.positions import Keys
from engine.yamlfile import Collected, Document, Layers, read

RUN_ENVIRONMENT = "environment.yaml"


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller says beside the manifests, such as options of a command; it wins over them."""

    values: Mapping[str, Tree] = {}
    problems: Path | None = None
    environment: Path | None = None
    # What ${NAME} stands for; the variables of this process where None.
    variables: Mapping[str, str] | None = None

    def environ(self) -> Mapping[str, str]:
        """The variables that documents may refer to."""
        return os.environ if self.variables is None else self.variables


NOTHING_GIVEN = Given()


def layers_of(source: Path | Document, given: Given) -> Layers:
    """Read a manifest with what it includes, or make one for a run directory, and lay on what is given."""
    variables = given.environ()
    if isinstance(source, Path) and source.is_dir():
        documents = [_run_directory(source, given)]
    else:
        document = source if isinstance(source, Document) else read(source, variables)
        documents = _with_includes(document, variables, ())
    overrides: dict[str, Tree] = dict(given.values)
    if given.problems is not None:
        overrides["problems"] = {"path": str(given.problems)}
    if given.environment is not None:
        overrides["environment"] = str(given.environment)
    command_line = Document.of(overrides, name="command line", folder=Path.cwd())
    return Layers([*documents, command_line] if overrides else documents)


def _with_includes(
    document: Document, variables: Mapping[str, str], chain: tuple[str, ...]
) -> list[Document]:
    """The documents that this one includes, in order, then itself."""
    if not isinstance(document.tree, dict):
        message = "a manifest is a mapping" if document.tree is not None else "the manifest is empty"
        place = document.place((), message, "begin with `version: 1`; `scbench init` writes an example")
        raise DocumentError((place,))
    chain = (*chain, os.path.realpath(document.name))
    included = document.tree.get("include", [])
    names = included if isinstance(included, list) else [included]
    collected, documents = Collected(), []
    for index, name in enumerate(names):
        keys: Keys = ("include", index) if isinstance(included, list) else ("include",)
        if isinstance(name, str) and name:
            found = collected.attempt(_included, document, keys, name, variables, chain)
            documents += found or []
    collected.raise_all()
    return [*documents, document]


def _included(
    document: Document, keys: Keys, name: str, variables: Mapping[str, str], chain: tuple[str, ...]
) -> list[Document]:
    path = document.folder / name
    if os.path.realpath(path) in chain:
        circle = [*chain[chain.index(os.path.realpath(path)) :], os.path.realpath(path)]
        names = " -> ".join(Path(one).name for one in circle)
        raise DocumentError((document.place(keys, f"includes itself: {names}", "remove one of these"),))
    if not path.is_file():
        message = f"no such file: {shown_path(path)}"
        raise DocumentError((document.place(keys, message, nearest_file(path)),))
    return _with_includes(read(path, variables), variables, chain)


def _run_directory(path: Path, given: Given) -> Document:
    """A manifest for a directory RUN/PROBLEM/CHECKPOINT/snapshot, as if someone had written it."""
    if given.problems is None:
        raise UserError(f"{path}: a run directory needs --problems DIR, the folder of the problems")
    tree: dict[str, Tree] = {
        "version": 1,
        "name": path.resolve().name,
        "submissions": [
            {"path": "{problem}/{checkpoint}/snapshot", "labels": {"run": path.resolve().name}},
        ],
    }
    if (path / RUN_ENVIRONMENT).is_file():
        tree["environment"] = RUN_ENVIRONMENT
    return Document.of(tree, name=str(path), folder=path)

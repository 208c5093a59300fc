"""A YAML or JSON file to a Struct, every mistake with file, line and column.

    load(path, Wanted)                    one file, one value
    Layers([read(base), read(file)])      several files of which later ones win, then `convert`

How text becomes plain values is in `engine/yamltree.py`, where each of them stands in
`engine/positions.py`, and what can be wrong with them in `engine/mistakes.py`.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import Node
from ruamel.yaml.reader import ReaderError

from engine.errors import DocumentError, Place
from engine.mistakes import Mistake, Tree, find_mistakes
from engine.positions import Finder, Keys, NodeFinder, OffsetFinder
from engine.yamltree import TreeBuilder, new_yaml, parse_json, replace_variables

Wanted = TypeVar("Wanted")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

# Longer lines, as scripts write them, are not shown: a caret under character 3,000 helps nobody.
_WIDEST_SOURCE = 160


class Document:
    """One file as it was read: its values, and where each of them stands."""

    def __init__(self, *, name: str, folder: Path, text: str, first_line: int = 1) -> None:
        self.name = name
        self.folder = folder
        self.tree: Tree = None
        self._text = text
        self._first_line = first_line
        # Stands in no file, so that it has no lines.
        self.is_made_up = False
        self._finder: Finder = NodeFinder(None)

    @classmethod
    def of(cls, tree: Tree, *, name: str, folder: Path) -> "Document":
        """Treat values that stand in no file, such as options of a command, as a document."""
        document = cls(name=name, folder=folder, text="")
        document.tree = tree
        document.is_made_up = True
        return document

    def parse(self, variables: Mapping[str, str] | None) -> None:
        """Fill the tree from the text; raise DocumentError with everything that is wrong."""
        places: list[Place] = []
        self.tree, as_json = parse_json(self._text)
        if as_json:
            self._finder = OffsetFinder(self._text)
            if variables is not None and "${" in self._text:
                self.tree = replace_variables(
                    self.tree, variables, lambda *mistake: places.append(self.place(*mistake))
                )
        else:
            root = self._composed()
            self._finder = NodeFinder(root)
            builder = TreeBuilder(variables, lambda *mistake: places.append(self.place_at(*mistake)))
            self.tree = builder.build(root)
        if places:
            raise DocumentError(tuple(places))

    def resolve(self, name: str) -> str:
        """The absolute path of a file or folder that is named in this document."""
        folder = str(self.folder)
        if not folder.startswith("/"):
            folder = f"{Path.cwd()}/{folder}"
        return os.path.normpath(name if name.startswith("/") else f"{folder}/{name}")

    def has(self, keys: Keys) -> bool:
        """Whether these keys lead to a value of this document."""
        return _follow(self.tree, keys) is not _NOTHING

    def written(self, keys: Keys) -> str | None:
        """The scalar at these keys exactly as it was written, where that is known."""
        spot = self._finder.find(keys)
        return spot.written if spot else None

    def place(self, keys: Keys, message: str, hint: str = "", *, at_key: bool = False) -> Place:
        """Say what is wrong at these keys, or at the nearest thing around them that exists."""
        for length in range(len(keys), -1, -1):
            spot = self._finder.find(keys[:length])
            if spot is not None:
                position = spot.key if at_key else spot.value
                return self.place_at(*position, message, hint)
        return self.place_at(1, 1, message, hint)

    def place_at(self, line: int, column: int, message: str, hint: str = "") -> Place:
        """Say what is wrong at a line and column of this document."""
        lines = self._text.split("\n", line)
        source = lines[line - 1].replace("\t", " ").rstrip() if line <= len(lines) else ""
        if column > _WIDEST_SOURCE:
            source = ""
        elif len(source) > _WIDEST_SOURCE:
            source = source[:_WIDEST_SOURCE] + "..."
        return Place(
            file=self.name,
            line=line + self._first_line - 1,
            column=column,
            message=message,
            hint=hint,
            source=source,
        )

    def _composed(self) -> Node | None:
        try:
            node: Node | None = new_yaml().compose(self._text)
        except MarkedYAMLError as error:
            raise DocumentError((self._syntax_place(error),)) from error
        except ReaderError as error:
            raise DocumentError((self._character_place(error),)) from error
        except (YAMLError, ValueError) as error:
            raise DocumentError((self.place_at(1, 1, f"not valid YAML: {error}"),)) from error
        except RecursionError as error:
            place = self.place_at(1, 1, "nested too deeply", "a document of this kind needs few levels")
            raise DocumentError((place,)) from error
        return node

    def _syntax_place(self, error: MarkedYAMLError) -> Place:
        problem = str(error.problem or error.context or "cannot be read")
        never_closed = "<stream end>" in problem and error.context_mark
        mark = error.context_mark if never_closed else error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        if never_closed:
            return self.place_at(line, column, "not valid YAML: this is never closed", problem)
        where = f" ({error.context})" if error.problem and error.context else ""
        place = self.place_at(line, column, f"not valid YAML: {problem}{where}")
        return msgspec.structs.replace(place, hint=_syntax_hint(f"{problem}{where}", place.source))

    def _character_place(self, error: ReaderError) -> Place:
        before = self._text[: error.position]
        line, column = before.count("\n") + 1, error.position - (before.rfind("\n") + 1) + 1
        place = self.place_at(line, column, "not valid YAML: a control character", "remove it, or escape it")
        return msgspec.structs.replace(place, source="")


class Layers:
    """Documents of which later ones win: mappings merge, everything else replaces."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = tuple(documents)
        self.tree: Tree = {}
        for document in self.documents:
            self.tree = _merged(self.tree, document.tree)

    def with_tree(self, tree: Tree) -> "Layers":
        """The same places for a tree that was altered."""
        layers = Layers(self.documents)
        layers.tree = tree
        return layers

    def origin(self, keys: Keys) -> Document:
        """The document that the value at these keys came from."""
        for length in range(len(keys), -1, -1):
            for document in reversed(self.documents):
                if document.has(keys[:length]):
                    return document
        return self.documents[-1]

    def place(self, keys: Keys, message: str, hint: str = "", *, at_key: bool = False) -> Place:
        """Say what is wrong at these keys, in the file that they came from."""
        return self.origin(keys).place(keys, message, hint, at_key=at_key)

    def get(self, keys: Keys) -> Tree:
        """The value at these keys, None where there is none."""
        value = _follow(self.tree, keys)
        return None if isinstance(value, _Nothing) else value


class Collected:
    """Mistakes of several steps, so that all are told at once."""

    def __init__(self) -> None:
        self.places: list[Place] = []

    def attempt(
        self, step: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result | None:
        """What the step returns; None where it raised, with its mistakes noted."""
        try:
            return step(*args, **kwargs)
        except DocumentError as error:
            self.places += error.places
            return None

    def raise_all(self) -> None:
        """Raise DocumentError where there was a mistake."""
        if self.places:
            raise DocumentError(tuple(dict.fromkeys(self.places)))


class _Nothing:
    """Marks that keys lead nowhere, because None is a value."""


_NOTHING = _Nothing()


def _follow(tree: Tree, keys: Keys) -> Tree | _Nothing:
    for key in keys:
        if isinstance(tree, dict):
            if key not in tree:
                return _NOTHING
            tree = tree[str(key)]
        elif isinstance(tree, list) and isinstance(key, int) and key < len(tree):
            tree = tree[key]
        else:
            return _NOTHING
    return tree


def read(path: Path, variables: Mapping[str, str] | None = None) -> Document:
    """Read a file into plain values; raise DocumentError with everything that is wrong."""
    document = Document(name=str(path), folder=path.parent, text="")
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise DocumentError((document.place_at(1, 1, "no such file"),)) from error
    except OSError as error:
        raise DocumentError((document.place_at(1, 1, f"cannot be read: {error.strerror}"),)) from error
    return read_bytes(data, name=str(path), folder=path.parent, variables=variables)


def read_bytes(
    data: bytes, *, name: str, folder: Path, variables: Mapping[str, str] | None = None, first_line: int = 1
) -> Document:
    """Read a document that is already in memory, such as standard input."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message, hint = "not UTF-8 text", "save the file as UTF-8"
        place = Place(file=name, line=line + first_line - 1, column=1, message=message, hint=hint)
        raise DocumentError((place,)) from error
    document = Document(name=name, folder=folder, text=text, first_line=first_line)
    document.parse(variables)
    return document


def convert(layers: Layers | Document, wanted: type[Wanted], keys: Keys = ()) -> Wanted:
    """Turn the values at these keys into a Struct; raise DocumentError with all that is wrong."""
    layers = Layers([layers]) if isinstance(layers, Document) else layers
    tree = layers.get(keys)
    try:
        return msgspec.convert(tree, wanted)
    except msgspec.ValidationError as error:
        found = [mistake for mistake in find_mistakes(tree, wanted) if not mistake.tolerable]
        found = found or [Mistake(keys=(), message=str(error))]
        raise DocumentError(places_of(layers, found, keys)) from error


def convert_what_fits(layers: Layers, wanted: type[Wanted]) -> tuple[Wanted | None, tuple[Place, ...]]:
    """Convert without the keys that are wrong, so that later steps can find their mistakes too."""
    try:
        return msgspec.convert(layers.tree, wanted), ()
    except msgspec.ValidationError as error:
        found = [mistake for mistake in find_mistakes(layers.tree, wanted) if not mistake.tolerable]
        places = places_of(layers, found or [Mistake(keys=(), message=str(error))])
    tree = layers.tree
    for mistake in found:
        tree = _without(tree, mistake.keys)
    try:
        return msgspec.convert(tree, wanted), places
    except msgspec.ValidationError:
        return None, places


def _without(tree: Tree, keys: Keys) -> Tree:
    """The tree without what these keys lead to, as far as that leaves everything else in its place."""
    if not isinstance(tree, dict) or not keys or keys[0] not in tree:
        return tree
    key = str(keys[0])
    if len(keys) == 1 or not isinstance(tree[key], dict):
        return {name: value for name, value in tree.items() if name != key}
    return {**tree, key: _without(tree[key], keys[1:])}


def tolerated(layers: Layers | Document, wanted: type, keys: Keys = ()) -> tuple[Place, ...]:
    """The unknown keys that the type lets pass, each with its place."""
    layers = Layers([layers]) if isinstance(layers, Document) else layers
    found = [mistake for mistake in find_mistakes(layers.get(keys), wanted) if mistake.tolerable]
    return places_of(layers, found, keys)


def load(path: Path, wanted: type[Wanted], variables: Mapping[str, str] | None = None) -> Wanted:
    """Read a file into a Struct."""
    return convert(read(path, variables), wanted)


def places_of(layers: Layers, mistakes: Iterable[Mistake], keys: Keys = ()) -> tuple[Place, ...]:
    """Turn mistakes below these keys into places, in the order in which a reader meets them."""
    places = [
        layers.place((*keys, *mistake.keys), mistake.message, mistake.hint, at_key=mistake.at_key)
        for mistake in mistakes
    ]
    return tuple(sorted(places, key=lambda place: (place.file, place.line, place.column)))


def _merged(base: Tree, top: Tree) -> Tree:
    if not isinstance(base, dict) or not isinstance(top, dict):
        return top
    return {**base, **{key: _merged(base.get(key), value) for key, value in top.items()}}


def _syntax_hint(problem: str, source: str) -> str:
    if "\\t" in problem or "'\t'" in problem:
        return "indent with spaces, not with tabs"
    if "mapping values are not allowed" in problem:
        return 'text that contains ": " must stand in quotes; or the indentation is off'
    if "${" in source and "{" in problem:
        return "inside braces, put ${...} in quotes"
    if "alias" in problem:
        return "text that begins with * must stand in quotes; an alias needs its anchor (&name) before it"
    if "another document" in problem:
        return "keep one document a file; remove the line with ---"
    return ""

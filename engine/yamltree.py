"""Text to plain values: YAML nodes and JSON, anchors, merges and variables resolved.

Dates stay text and keys are text, so that what people meant as a name stays one. `${NAME}` and
`${NAME:-default}` are replaced where the caller hands over variables; `$${` stands for `${`.
"""

import json
import re
from collections.abc import Callable, Mapping

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from engine.mistakes import Tree
from engine.positions import MERGE_TAG, Keys

# Called with line, column, message and hint of a mistake.
Note = Callable[[int, int, str, str], None]
NoteAt = Callable[[Keys, str, str], None]
Variables = Mapping[str, str]

_TAG = "tag:yaml.org,2002:"
_VARIABLE = re.compile(r"\$(\$\{)|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
# Above this size JSON is a program's work and is read faster, without looking for keys written twice.
_WRITTEN_BY_HAND = 1_000_000
_FAST_JSON: msgspec.json.Decoder[Tree] = msgspec.json.Decoder()


def new_yaml() -> YAML:
    """A reader of YAML 1.2, as plain as it gets."""
    yaml = YAML(typ="safe", pure=True)
    # YAML allows an anchor to be set again; a warning on standard error would help nobody.
    yaml.composer.warn_double_anchors = False
    return yaml


class TreeBuilder:
    """Nodes to plain values, noting every mistake on the way."""

    def __init__(self, variables: Variables | None, note: Note) -> None:
        self._variables = variables
        self._tell = note
        self._built: dict[int, Tree] = {}
        self._open: set[int] = set()
        self._resolver = new_yaml().resolver

    def build(self, node: Node | None) -> Tree:
        """The value that a node stands for."""
        if node is None:
            return None
        if id(node) in self._open:
            self._note(node, "an alias inside the very thing that it stands for", "remove the alias")
            return None
        if id(node) not in self._built:
            self._open.add(id(node))
            self._built[id(node)] = self._build(node)
            self._open.discard(id(node))
        return self._built[id(node)]

    def _build(self, node: Node) -> Tree:
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if isinstance(node, SequenceNode):
            return [self.build(one) for one in node.value]
        return self._mapping(node) if isinstance(node, MappingNode) else None

    def _mapping(self, node: MappingNode) -> Tree:
        own: dict[str, Tree] = {}
        merged: dict[str, Tree] = {}
        for key_node, value_node in node.value:
            if key_node.tag == MERGE_TAG:
                for key, value in self._merge(value_node).items():
                    merged.setdefault(key, value)
            elif not isinstance(key_node, ScalarNode):
                self._note(key_node, "a list or mapping cannot be a key", "write the key as text")
            elif str(key_node.value) in own:
                self._note(key_node, f"`{key_node.value}` is written twice", "keep one of the two")
            else:
                key = str(key_node.value)
                own[key] = self.build(value_node)
        return {**merged, **own} if merged else own

    def _merge(self, node: Node) -> dict[str, Tree]:
        values = [self.build(one) for one in (node.value if isinstance(node, SequenceNode) else [node])]
        merged: dict[str, Tree] = {}
        for value in values:
            if not isinstance(value, dict):
                self._note(node, "`<<` needs a mapping, or a list of mappings", "point it at an anchor")
                continue
            merged = {**value, **merged}
        return merged

    def _scalar(self, node: ScalarNode) -> Tree:
        text, tag = str(node.value), str(node.tag)
        if self._variables is not None and "${" in text:
            text, missing = _substitute(text, self._variables)
            for name in missing:
                self._note(node, *_unset(name))
            if node.style is None:
                tag = str(self._resolver.resolve(ScalarNode, text, (True, False)))
        if not tag.startswith(_TAG):
            self._note(node, f"the tag `{tag}` means nothing here", "remove it")
        return _plain(text, tag.removeprefix(_TAG))

    def _note(self, node: Node, message: str, hint: str = "") -> None:
        self._tell(node.start_mark.line + 1, node.start_mark.column + 1, message, hint)


def _substitute(text: str, variables: Variables) -> tuple[str, tuple[str, ...]]:
    missing: list[str] = []

    def value(match: re.Match[str]) -> str:
        escaped, name, default = match.groups()
        if escaped:
            return str(escaped)
        if found := variables.get(name):
            return found
        if default is None and name not in variables:
            missing.append(name)
        return default or ""

    return _VARIABLE.sub(value, text), tuple(missing)


def _unset(name: str) -> tuple[str, str]:
    return f"the environment variable `{name}` is not set", f"set it, or write ${{{name}:-a default}}"


def replace_variables(tree: Tree, variables: Variables, note: NoteAt, keys: Keys = ()) -> Tree:
    """Replace variables in every text of a tree."""
    if isinstance(tree, dict):
        return {key: replace_variables(value, variables, note, (*keys, key)) for key, value in tree.items()}
    if isinstance(tree, list):
        return [replace_variables(value, variables, note, (*keys, index)) for index, value in enumerate(tree)]
    if not isinstance(tree, str) or "${" not in tree:
        return tree
    text, missing = _substitute(tree, variables)
    for name in missing:
        note(keys, *_unset(name))
    return text


def _plain(text: str, tag: str) -> Tree:
    try:
        match tag:
            case "null":
                return None
            case "bool":
                return text.casefold() == "true"
            case "int":
                return _whole_number(text.replace("_", ""))
            case "float":
                return float(re.sub(r"\.(inf|nan)$", r"\1", text.replace("_", ""), flags=re.IGNORECASE))
            case _:
                return text
    except ValueError:
        return text


def _whole_number(text: str) -> int:
    # YAML 1.2: 0o17 is octal, 017 is seventeen.
    return int(text, 0) if re.match(r"[-+]?0[xob]", text) else int(text)


def parse_json(text: str) -> tuple[Tree, bool]:
    """The value of a JSON text, and whether the text is JSON at all."""
    if text.lstrip()[:1] not in ("{", "["):
        return None, False
    try:
        if len(text) > _WRITTEN_BY_HAND:
            return _FAST_JSON.decode(text), True
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refused), True
    except (ValueError, RecursionError, msgspec.DecodeError):
        # Read as YAML, which is where flow mappings belong and where mistakes get their place.
        return None, False


def _unique(pairs: list[tuple[str, Tree]]) -> dict[str, Tree]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is written twice")
    return members


def _refused(constant: str) -> Tree:
    raise ValueError(f"{constant} is not JSON")

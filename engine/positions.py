"""Where a value stands in the text it was read from.

Two finders with one shape: they take the keys that lead to a value and return the offsets of its key
and of the value itself. YAML is looked up in the nodes that ruamel composed; JSON, which scripts write
by the megabyte, is scanned again with the decoder of the standard library only when a place is asked for.
"""

import json
import re
from typing import NamedTuple, Protocol

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

Keys = tuple[str | int, ...]

MERGE_TAG = "tag:yaml.org,2002:merge"
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Spot(NamedTuple):
    """Line and column, both from 1, of a key and of its value."""

    key: tuple[int, int]
    value: tuple[int, int]
    # The value as written, where it is a scalar.
    written: str | None = None


class Finder(Protocol):
    """Tells where a value stands; None where there is no such value."""

    def find(self, keys: Keys) -> Spot | None:
        """Look up the place of the value that these keys lead to."""


class NodeFinder:
    """Places in YAML, by its nodes."""

    def __init__(self, root: Node | None) -> None:
        self._root = root

    def find(self, keys: Keys) -> Spot | None:
        """Look up the place of the value that these keys lead to."""
        key_node = node = self._root
        for key in keys:
            step = _step(node, key)
            if step is None:
                return None
            key_node, node = step
        if key_node is None or node is None:
            return None
        written = str(node.value) if isinstance(node, ScalarNode) else None
        return Spot(_mark(key_node), _mark(node), written)


def _mark(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _step(node: Node | None, key: str | int) -> tuple[Node, Node] | None:
    if isinstance(node, SequenceNode) and isinstance(key, int):
        return (node.value[key], node.value[key]) if key < len(node.value) else None
    if not isinstance(node, MappingNode):
        return None
    for key_node, value_node in node.value:
        if key_node.value == key and key_node.tag != MERGE_TAG:
            return key_node, value_node
    for key_node, value_node in node.value:
        if key_node.tag == MERGE_TAG and (found := _merged_step(value_node, key)):
            return found
    return None


def _merged_step(node: Node, key: str | int) -> tuple[Node, Node] | None:
    merged = node.value if isinstance(node, SequenceNode) else [node]
    return next((step for one in merged if (step := _step(one, key))), None)


class OffsetFinder:
    """Places in JSON, by offsets into text that is known to be valid."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._children: dict[int, dict[str | int, tuple[int, int]]] = {}

    def find(self, keys: Keys) -> Spot | None:
        """Look up the place of the value that these keys lead to."""
        key_offset = offset = self._skip(0)
        for key in keys:
            step = self._members(offset).get(key)
            if step is None:
                return None
            key_offset, offset = step
        return Spot(self._position(key_offset), self._position(offset), None)

    def _members(self, offset: int) -> dict[str | int, tuple[int, int]]:
        if offset not in self._children:
            opening = self._text[offset]
            read = {"{": self._object, "[": self._array}.get(opening)
            self._children[offset] = read(self._skip(offset + 1)) if read else {}
        return self._children[offset]

    def _object(self, at: int) -> dict[str | int, tuple[int, int]]:
        members: dict[str | int, tuple[int, int]] = {}
        while self._text[at] == '"':
            key, end = _DECODER.raw_decode(self._text, at)
            value = self._skip(self._skip(end) + 1)
            members[key] = (at, value)
            at = self._after(value)
        return members

    def _array(self, at: int) -> dict[str | int, tuple[int, int]]:
        members: dict[str | int, tuple[int, int]] = {}
        while self._text[at] != "]":
            members[len(members)] = (at, at)
            at = self._after(at)
        return members

    def _after(self, at: int) -> int:
        """The start of what follows the value at this offset and its comma."""
        end = self._skip(_DECODER.raw_decode(self._text, at)[1])
        return self._skip(end + 1) if self._text[end] == "," else end

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return match.end() if match else at

    def _position(self, offset: int) -> tuple[int, int]:
        line = self._text.count("\n", 0, offset) + 1
        return line, offset - (self._text.rfind("\n", 0, offset) + 1) + 1

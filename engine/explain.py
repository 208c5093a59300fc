"""Where each resolved value of a manifest came from."""

from collections.abc import Iterator

import msgspec

from engine.manifest import Part
from engine.manifestdocument import ManifestDocument
from engine.mistakes import Tree
from engine.positions import Keys
from engine.quantities import spoken_duration
from engine.yamlfile import Layers

# Sections that are material and not settings; a plan shows them expanded.
_MATERIAL = ("submissions", "evaluations", "include")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One value, and the place that it was written at."""

    key: str
    value: str
    origin: str


def explain(part: Part) -> Iterator[Row]:
    """Tell every setting with its value and its origin: a place in a file, an option, or the default."""
    written = dict(_leaves(part.layers.tree, ()))
    values = {**dict(_defaults(part)), **written}
    order = [field.encode_name for field in msgspec.structs.fields(ManifestDocument)]
    for keys, value in sorted(values.items(), key=lambda entry: order.index(str(entry[0][0]))):
        if keys[0] not in _MATERIAL:
            yield Row(key=".".join(map(str, keys)), value=_shown(value), origin=_origin(part.layers, keys))


def _defaults(part: Part) -> Iterator[tuple[Keys, Tree]]:
    said = part.layers.tree if isinstance(part.layers.tree, dict) else {}
    fields = msgspec.structs.fields(ManifestDocument)
    for field in fields:
        if field.default is not msgspec.NODEFAULT and field.encode_name not in said:
            yield from _leaves(msgspec.to_builtins(field.default), (field.encode_name,))
    limits = part.timeouts.limits(None)
    for name in ("test", "session", "setup", "evaluation"):
        seconds: float = getattr(limits, name)
        yield ("timeouts", name), spoken_duration(seconds)


def _leaves(tree: Tree, keys: Keys) -> Iterator[tuple[Keys, Tree]]:
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from _leaves(value, (*keys, key))
    elif tree not in ({}, None) and keys:
        yield keys, tree


def _shown(value: Tree) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(one if isinstance(one, str) else msgspec.json.encode(one).decode() for one in value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _origin(layers: Layers, keys: Keys) -> str:
    document = layers.origin(keys)
    if not document.has(keys):
        return "default"
    place = document.place(keys, "")
    return place.file if document.is_made_up else f"{place.file}:{place.line}"

"""What is wrong with a tree of values, as one would say it to the person who wrote it.

msgspec stops at the first mistake and loses the keys of mappings on the way; this walks the same type
and finds every mistake with its place. A type may say in its own words what it wants, by
`Meta(extra={"expected": "a duration such as 90s"})`.
"""

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeGuard

import msgspec
from msgspec import inspect

from engine.positions import Keys

Tree = None | bool | int | float | str | list["Tree"] | dict[str, "Tree"]


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, found at the value that `keys` lead to, or at its key."""

    keys: Keys
    message: str
    hint: str = ""
    at_key: bool = False
    # An unknown key of a type that tolerates unknown keys.
    tolerable: bool = False


def find_mistakes(tree: Tree, wanted: type) -> Iterator[Mistake]:
    """Find everything in the tree that keeps it from being a value of this type."""
    yield from _examine(tree, inspect.type_info(wanted), ())


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Suggest the known name that was probably meant, or list what there is."""
    names = sorted(set(known))
    close = difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
    folded = [one for one in names if one.casefold() == name.casefold()]
    if folded or close:
        return f"did you mean `{(folded or close)[0]}`?"
    if not names:
        return ""
    shown = ", ".join(names[:12])
    return f"there is: {shown}" + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def nearest_file(path: Path) -> str:
    """Suggest what was probably meant by a path that does not exist."""
    if not path.parent.is_dir():
        return f"there is no folder {shown_path(path.parent)} either"
    # File names share their endings, so that more must agree than with other names.
    advice = nearest(path.name, [one.name for one in path.parent.iterdir()], cutoff=0.75)
    return "" if advice.endswith(" more") else advice


def shown_path(path: str | Path) -> str:
    """A path as short as it can be said from here."""
    return min(os.path.relpath(path), str(path), key=len)


def _examine(value: Tree, wanted: inspect.Type, keys: Keys) -> Iterator[Mistake]:
    match wanted:
        case inspect.StructType() if isinstance(value, dict):
            yield from _examine_struct(value, wanted, keys)
        case inspect.DictType(min_length=least) if isinstance(value, dict):
            yield from _examine_members(value.items(), wanted.value_type, least, keys)
        case inspect.VarTupleType(min_length=least) if isinstance(value, list):
            yield from _examine_members(enumerate(value), wanted.item_type, least, keys)
        case inspect.Metadata(type=inner):
            yield from _examine_described(value, wanted, inner, keys)
        case inspect.UnionType(types=types):
            yield from _examine_union(value, wanted, types, keys)
        case _:
            if not _accepts(value, wanted):
                yield _refusal(value, wanted, keys)


def _examine_members(
    members: Iterable[tuple[str | int, Tree]], wanted: inspect.Type, least: int | None, keys: Keys
) -> Iterator[Mistake]:
    count = 0
    for key, value in members:
        count += 1
        yield from _examine(value, wanted, (*keys, key))
    if count < (least or 0):
        yield Mistake(keys=keys, message=f"{_called(keys)}expected at least one entry, got none")


def _examine_struct(value: dict[str, Tree], wanted: inspect.StructType, keys: Keys) -> Iterator[Mistake]:
    fields = {field.encode_name: field for field in wanted.fields}
    for key, one in value.items():
        if key in fields:
            yield from _examine(one, fields[key].type, (*keys, key))
        else:
            yield Mistake(
                keys=(*keys, key),
                message=f"unknown key `{key}`",
                hint=nearest(key, fields.keys() - value.keys() or fields.keys()),
                at_key=True,
                tolerable=not wanted.forbid_unknown_fields,
            )
    for name, field in fields.items():
        if field.required and name not in value:
            hint = f"it must be {describe(field.type)}"
            yield Mistake(keys=keys, message=f"`{name}` is missing", hint=hint)


def _examine_described(
    value: Tree, wanted: inspect.Metadata, inner: inspect.Type, keys: Keys
) -> Iterator[Mistake]:
    found = list(_examine(value, inner, keys))
    own_words = (wanted.extra or {}).get("expected")
    if own_words and any(mistake.keys == keys for mistake in found):
        yield _refusal(value, wanted, keys)
    else:
        yield from found


def _examine_union(
    value: Tree, wanted: inspect.UnionType, types: tuple[inspect.Type, ...], keys: Keys
) -> Iterator[Mistake]:
    if any(not list(_examine(value, one, keys)) for one in types):
        return
    inner = [one for one in types if _is_of_kind(value, one)]
    found = list(_examine(value, inner[0], keys)) if len(inner) == 1 else []
    yield from found or [_refusal(value, wanted, keys)]


def _is_of_kind(value: Tree, wanted: inspect.Type) -> bool:
    """Whether to say what is wrong inside the value rather than that it is of the wrong kind."""
    match wanted:
        case inspect.StructType() | inspect.DictType():
            return isinstance(value, dict)
        case inspect.VarTupleType():
            return isinstance(value, list)
        case inspect.IntType():
            return isinstance(value, int) and _is_number(value)
        case _:
            return False


def _accepts(value: Tree, wanted: inspect.Type) -> bool:
    match wanted:
        case inspect.AnyType() | inspect.CustomType():
            return True
        case inspect.NoneType():
            return value is None
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.StrType(pattern=pattern, min_length=shortest):
            return isinstance(value, str) and len(value) >= (shortest or 0) and _matches(value, pattern)
        case inspect.IntType():
            return isinstance(value, int) and _is_number(value) and _in_bounds(value, wanted)
        case inspect.FloatType():
            return _is_number(value) and _in_bounds(value, wanted)
        case inspect.LiteralType(values=values):
            return not isinstance(value, bool) and value in values
        case inspect.EnumType(cls=cls):
            return isinstance(value, str) and value in [member.value for member in cls]
        case _:
            return False


def _is_number(value: Tree) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _matches(value: str, pattern: str | None) -> bool:
    return pattern is None or re.search(pattern, value) is not None


def _in_bounds(value: float, wanted: inspect.IntType | inspect.FloatType) -> bool:
    return not (
        (wanted.gt is not None and not value > wanted.gt)
        or (wanted.ge is not None and not value >= wanted.ge)
        or (wanted.lt is not None and not value < wanted.lt)
        or (wanted.le is not None and not value <= wanted.le)
    )


def _refusal(value: Tree, wanted: inspect.Type, keys: Keys) -> Mistake:
    message = f"{_called(keys)}expected {describe(wanted)}, got {spoken(value)}"
    return Mistake(keys=keys, message=message, hint=_advice(value, wanted))


def _advice(value: Tree, wanted: inspect.Type) -> str:
    if isinstance(value, str) and (choices := _choices(wanted)):
        close = difflib.get_close_matches(value.casefold(), choices, n=1, cutoff=0.5)
        return f"did you mean `{close[0]}`?" if close else ""
    if isinstance(wanted, inspect.StrType) and _is_number(value):
        return f'put it in quotes: "{value}"'
    if isinstance(wanted, inspect.VarTupleType) and isinstance(value, str):
        return "put it in brackets, or on a line of its own after a dash"
    return ""


def _called(keys: Keys) -> str:
    names = [key for key in keys if isinstance(key, str)]
    return f"`{names[-1]}`: " if names else ""


def _choices(wanted: inspect.Type) -> list[str]:
    match wanted:
        case inspect.LiteralType(values=values):
            return [str(value) for value in values]
        case inspect.EnumType(cls=cls):
            return [str(member.value) for member in cls]
        case inspect.UnionType(types=types):
            return [choice for one in types for choice in _choices(one)]
        case inspect.Metadata(type=inner):
            return _choices(inner)
        case _:
            return []


def describe(wanted: inspect.Type) -> str:
    """Say what a value of this type looks like in a document."""
    match wanted:
        case inspect.Metadata(type=inner, extra=extra):
            return str((extra or {}).get("expected", describe(inner)))
        case inspect.UnionType(types=types):
            said = [one for one in types if not isinstance(one, inspect.NoneType)]
            return " or ".join(dict.fromkeys(describe(one) for one in said))
        case inspect.LiteralType() | inspect.EnumType():
            choices = [f"`{choice}`" for choice in _choices(wanted)]
            return choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}"
        case inspect.IntType() | inspect.FloatType():
            noun = "a whole number" if isinstance(wanted, inspect.IntType) else "a number"
            return noun + _spoken_bounds(wanted)
        case inspect.StrType(min_length=shortest):
            return "text that is not empty" if shortest else "text"
        case inspect.BoolType():
            return "`true` or `false`"
        case inspect.NoneType():
            return "nothing"
        case inspect.VarTupleType(item_type=member):
            return f"a list ({describe(member)})" if isinstance(member, inspect.StrType) else "a list"
        case _:
            return "a mapping"


def _spoken_bounds(wanted: inspect.IntType | inspect.FloatType) -> str:
    least, most = wanted.ge, wanted.le
    if least is not None and most is not None:
        return f" from {least} to {most}"
    said = {"above": wanted.gt, "of at least": least, "below": wanted.lt, "of at most": most}
    bounds = [f"{words} {bound}" for words, bound in said.items() if bound is not None]
    return f" {' and '.join(bounds)}" if bounds else ""


def spoken(value: Tree) -> str:
    """Say what was found in a document, briefly."""
    match value:
        case None:
            return "nothing"
        case bool():
            return f"`{str(value).lower()}`"
        case int() | float():
            return f"the number {value}"
        case str() if not value:
            return "empty text"
        case str():
            return f"the text {_shortened(value)!r}"
        case list():
            return "a list"
        case dict():
            return "a mapping"


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."

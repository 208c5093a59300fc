"""Path templates: `samples/{model}/{problem}/{checkpoint}/snapshot`, matched against folders.

A placeholder stands for all or part of one path component and never for a hidden folder; a name that
occurs twice must stand for the same text both times. `*`, `?` and `[...]` work as in a shell.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from engine.mistakes import nearest, shown_path

_TOKEN = re.compile(r"\{([^{}]*)\}|(\*\*)|(\*)|(\?)|(\[[^\]/]+\])|([^{}*?\[]+|\[)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Values = tuple[tuple[str, str], ...]


class TemplateError(ValueError):
    """The template cannot be understood; `offset` is where."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Match(msgspec.Struct, frozen=True):
    """A folder that fits a template, and what its placeholders stand for."""

    path: str
    values: Values


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A path template, understood."""

    text: str
    components: tuple[str, ...]
    placeholders: tuple[str, ...]


def parse_template(text: str) -> Template:
    """Understand a template; raise TemplateError where it has no meaning."""
    names: list[str] = []
    components = [component for component in text.split("/") if component not in ("", ".")]
    for component in components:
        names += _placeholders(component)
    return Template(
        text=text,
        components=("/", *components) if text.startswith("/") else tuple(components),
        placeholders=tuple(dict.fromkeys(names)),
    )


def find_matches(template: Template, folder: str) -> Iterator[Match]:
    """Find the folders below an absolute path that fit the template, in the order of their names."""
    yield from _descend(folder, template.components, ())


def explain_no_match(template: Template, folder: str) -> str:
    """Say at which part of the template the search ended."""
    reached = [folder]
    for component in template.components:
        deeper = [match.path for path in reached for match in _descend(path, (component,), ())]
        if not deeper:
            more = f" and {len(reached) - 1} more" if len(reached) > 1 else ""
            advice = f"; {nearest(component, names)}" if (names := _folders(reached[0])) else ""
            return f"no `{component}` in {shown_path(reached[0])}{more}{advice}"
        reached = deeper
    return "no combination of placeholders fits"


def _descend(path: str, components: tuple[str, ...], values: Values) -> Iterator[Match]:
    if not components:
        yield Match(path, values)
        return
    first, rest = components[0], components[1:]
    if _is_literal(first):
        deeper = os.path.normpath(f"{path}/{first}") if first != "/" else first
        if Path(deeper).is_dir():
            yield from _descend(deeper, rest, values)
        return
    pattern = _pattern(first, dict(values))
    for name in _folders(path):
        match = pattern.fullmatch(name)
        if match and not (name.startswith(".") and not first.startswith(".")):
            found = {**dict(values), **match.groupdict()}
            yield from _descend(f"{path.rstrip('/')}/{name}", rest, tuple(found.items()))


def _folders(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return []


def _is_literal(component: str) -> bool:
    return not re.search(r"[{*?\[]", component)


def _placeholders(component: str) -> list[str]:
    names, end = [], 0
    for token in _TOKEN.finditer(component):
        if token.start() != end:
            break
        end = token.end()
        name = token[1]
        if name is not None and not _NAME.fullmatch(name):
            raise TemplateError(f"`{{{name}}}` is not a placeholder", "a name of letters, digits and _")
        if token[2]:
            raise TemplateError("`**` has no meaning here", "write one component for each level of folders")
        names += [name] if name else []
    if end != len(component):
        raise TemplateError(f"a brace without its partner in `{component}`", "write placeholders as {name}")
    return names


def _pattern(component: str, known: dict[str, str]) -> re.Pattern[str]:
    parts, seen = [], set(known)
    for token in _TOKEN.finditer(component):
        name, _, star, question, choice, literal = token.groups()
        if name and name in known:
            parts.append(re.escape(known[name]))
        elif name:
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>.+)")
            seen.add(name)
        elif choice:
            parts.append(choice.replace("[!", "[^").replace("\\", "\\\\"))
        else:
            parts.append(".*" if star else "." if question else re.escape(literal))
    try:
        return re.compile("".join(parts))
    except re.error:
        return re.compile(re.escape(component))

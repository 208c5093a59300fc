"""Queries: which documents, in which order, how many of them."""

import json
import re
from dataclasses import dataclass, field

MAX_LIMIT = 1000


class InvalidQuery(Exception):
    pass


@dataclass
class Query:
    where: list = field(default_factory=list)  # pairs of field and value
    sort: str | None = None
    descending: bool = False
    limit: int = 100
    offset: int = 0

    @classmethod
    def parse(cls, pairs):
        query = cls()
        for name, text in pairs:
            match name:
                case "where":
                    query.where.append(_condition(text))
                case "sort":
                    query.descending = text.startswith("-")
                    query.sort = text.removeprefix("-")
                    if not query.sort:
                        raise InvalidQuery("sort: no field")
                case "limit":
                    query.limit = _number(name, text, 1, MAX_LIMIT)
                case "offset":
                    query.offset = _number(name, text, 0, None)
                case _:
                    raise InvalidQuery(f"unknown parameter {name!r}")
        return query

    def run(self, entries):
        """The number of entries (id, revision, content) that match, and those that are wanted."""
        found = [entry for entry in entries if self._matches(entry[2])]
        if self.sort is not None:
            found = self._sorted(found)
        return len(found), found[self.offset : self.offset + self.limit]

    def _matches(self, content):
        return all(
            name in content and _kind(content[name]) == _kind(value) and content[name] == value
            for name, value in self.where
        )

    def _sorted(self, entries):
        parts = {"number": [], "string": []}
        rest = []
        for entry in entries:
            kind = _kind(entry[2].get(self.sort))
            parts.get(kind, rest).append(entry)
        for part in parts.values():
            # Sorting is stable in both directions.
            part.sort(key=lambda entry: entry[2][self.sort], reverse=self.descending)
        return parts["number"] + parts["string"] + rest


def _kind(value):
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case _:
            return "compound"


def _condition(text):
    name, colon, value = text.partition(":")
    if not colon or not name:
        raise InvalidQuery(f"where: not FIELD:VALUE: {text!r}")
    try:
        value = json.loads(value, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise InvalidQuery(f"where: not JSON: {value!r}") from None
    if _kind(value) == "compound":
        raise InvalidQuery(f"where: neither array nor object can be looked for: {text!r}")
    return name, value


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def _number(name, text, low, high):
    if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) < low or (high is not None and int(text) > high):
        raise InvalidQuery(f"{name}: not a number in its range: {text!r}")
    return int(text)

"""Filtering, sorting and paging of documents."""
from __future__ import annotations

import json
from typing import Any

ALLOWED = {"where", "sort", "limit", "offset"}


class QueryError(Exception):
    pass


def parse_query(params: dict[str, list[str]]) -> dict[str, Any]:
    unknown = set(params) - ALLOWED
    if unknown:
        raise QueryError(f"unknown parameter(s): {', '.join(sorted(unknown))}")
    sort = params.get("sort", [None])[0]
    if sort is not None and sort in ("", "-"):
        raise QueryError("sort needs a field")
    return {
        "where": [parse_condition(text) for text in params.get("where", [])],
        "sort": sort,
        "limit": parse_int(params, "limit", 100, 1, 1000),
        "offset": parse_int(params, "offset", 0, 0, None),
    }


def parse_int(params: dict[str, list[str]], name: str, default: int, low: int, high: int | None) -> int:
    if name not in params:
        return default
    text = params[name][0]
    if not (text.isascii() and text.isdigit()):
        raise QueryError(f"{name} must be a number")
    number = int(text)
    if number < low or (high is not None and number > high):
        raise QueryError(f"{name} is out of range")
    return number


def parse_condition(text: str) -> tuple[str, Any]:
    field, sep, raw = text.partition(":")
    if not sep or not field:
        raise QueryError("where must be FIELD:VALUE")
    try:
        value = json.loads(raw)
    except ValueError:
        raise QueryError(f"where value is not JSON: {raw}") from None
    if isinstance(value, (list, dict)):
        raise QueryError("where value must be a scalar")
    return field, value


def same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right


def sort_docs(docs: list[dict[str, Any]], sort: str) -> list[dict[str, Any]]:
    reverse = sort.startswith("-")
    field = sort[1:] if reverse else sort
    numbers, strings, others = [], [], []
    for entry in docs:
        value = entry["doc"].get(field)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers.append(entry)
        elif isinstance(value, str):
            strings.append(entry)
        else:
            others.append(entry)
    for part in (numbers, strings):
        part.sort(key=lambda entry: entry["doc"][field], reverse=reverse)
    return numbers + strings + others


def run_query(query: dict[str, Any], docs: list[dict[str, Any]]) -> tuple[int, list[dict[str, Any]]]:
    for field, value in query["where"]:
        docs = [entry for entry in docs if field in entry["doc"] and same(entry["doc"][field], value)]
    if query["sort"]:
        docs = sort_docs(docs, query["sort"])
    start = query["offset"]
    return len(docs), docs[start : start + query["limit"]]

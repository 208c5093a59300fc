"""Tags of pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import SimpleNamespace

from .errors import MillError

OTHER = re.compile(r"[^a-z0-9]+")


def slug_of(name: str) -> str:
    return OTHER.sub("-", name.lower()).strip("-")


def check(names: Iterable[str], where: str) -> None:
    for name in names:
        if not slug_of(name):
            raise MillError(f"{where}: bad tag: {name}")


def collect(views: Iterable[SimpleNamespace]) -> list[SimpleNamespace]:
    """The tags of the pages (which come sorted by URL, with good tags), sorted by slug."""
    tags: dict[str, SimpleNamespace] = {}
    for view in views:
        for name in view.tags:
            slug = slug_of(name)
            tag = tags.setdefault(
                slug, SimpleNamespace(name=name, slug=slug, url=f"tags/{slug}.html", pages=[])
            )
            if view not in tag.pages:
                tag.pages.append(view)
    return [tags[slug] for slug in sorted(tags)]

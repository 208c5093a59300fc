"""Tags of pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import SimpleNamespace

from .errors import MillError

OTHER = re.compile(r"[^a-z0-9]+")


def slug_of(name: str) -> str:
    return OTHER.sub("-", name.lower()).strip("-")


def collect(views: Iterable[SimpleNamespace]) -> list[SimpleNamespace]:
    """The tags of the pages (which come sorted by URL), sorted by slug."""
    tags: dict[str, SimpleNamespace] = {}
    for view in views:
        for name in view.tags:
            slug = slug_of(name)
            if not slug:
                raise MillError(f"content/{view.source}: bad tag: {name}")
            tag = tags.setdefault(
                slug, SimpleNamespace(name=name, slug=slug, url=f"tags/{slug}.html", pages=[])
            )
            if view not in tag.pages:
                tag.pages.append(view)
    return [tags[slug] for slug in sorted(tags)]

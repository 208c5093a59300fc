"""Tags and tag pages."""
import re
from typing import Any

from problems import SiteError

_NON_SLUG = re.compile(r"[^a-z0-9]+")


def slugify(name: str) -> str:
    return _NON_SLUG.sub("-", name.lower()).strip("-")


def collect_tags(contexts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Collect the tags of all pages (sorted by URL)."""
    by_slug: dict[str, dict[str, Any]] = {}
    for context in contexts:
        for name in context["tags"]:
            slug = slugify(name)
            if not slug:
                raise SiteError(f"content/{context['source']}: bad tag: {name}")
            if slug not in by_slug:
                by_slug[slug] = {"name": name, "slug": slug, "url": f"tags/{slug}.html", "pages": []}
            pages = by_slug[slug]["pages"]
            if context not in pages:
                pages.append(context)
    return [by_slug[slug] for slug in sorted(by_slug)]

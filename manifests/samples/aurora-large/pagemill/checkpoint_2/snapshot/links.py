"""Rewriting of links between pages."""
import html
import posixpath
import re

from problems import SiteError

_HREF = re.compile(r'(<a\b[^>]*?\bhref=")([^"]*)(")')


def rewrite_links(markup: str, source: str, known_sources: set[str]) -> str:
    """Point links to ``.md`` files at the HTML files that are written for them.

    Works on the HTML that Markdown made: there, the text of code is escaped, so that
    only real links can match.
    """
    folder = posixpath.dirname(source)

    def replace(match: re.Match[str]) -> str:
        target = html.unescape(match.group(2))
        path, separator, fragment = target.partition("#")
        if not path.endswith(".md") or path.startswith("/") or ":" in path:
            return match.group(0)
        resolved = posixpath.normpath(posixpath.join(folder, path))
        if resolved not in known_sources:
            raise SiteError(f"content/{source}: broken link: {target}")
        new_target = path[: -len(".md")] + ".html" + separator + fragment
        return match.group(1) + html.escape(new_target) + match.group(3)

    return _HREF.sub(replace, markup)

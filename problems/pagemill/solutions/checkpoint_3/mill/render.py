"""Markdown and templates."""

from __future__ import annotations

import html
import posixpath
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree.ElementTree import Element

import jinja2
import markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from markupsafe import Markup

from .errors import MillError

EXTENSIONS = ["tables", "fenced_code", "toc"]
TOC_LEVELS = (2, 3)


class PageLinks(Treeprocessor):
    """Turns links to source files into links to the files that are written."""

    def __init__(self, md: markdown.Markdown, source: str, known: set[str]) -> None:
        super().__init__(md)
        self._source = source
        self._known = known

    def run(self, root: Element) -> None:
        for link in root.iter("a"):
            target = link.get("href", "")
            path, hash_sign, part = target.partition("#")
            if not path.endswith(".md") or path.startswith("/") or ":" in path:
                continue
            if posixpath.normpath(posixpath.join(posixpath.dirname(self._source), path)) not in self._known:
                raise MillError(f"content/{self._source}: broken link: {target}")
            link.set("href", path[: -len(".md")] + ".html" + hash_sign + part)


class PageLinksExtension(Extension):
    def __init__(self, source: str, known: set[str]) -> None:
        super().__init__()
        self._source = source
        self._known = known

    def extendMarkdown(self, md: markdown.Markdown) -> None:  # noqa: N802
        # after `inline` (20), which makes the links
        md.treeprocessors.register(PageLinks(md, self._source, self._known), "page-links", 15)


def flatten(tokens: list[dict[str, Any]]) -> Iterator[SimpleNamespace]:
    for token in tokens:
        if token["level"] in TOC_LEVELS:
            # the extension escapes the names
            yield SimpleNamespace(level=token["level"], id=token["id"], name=html.unescape(token["name"]))
        yield from flatten(token["children"])


def to_html(text: str, source: str, known: set[str]) -> tuple[Markup, list[SimpleNamespace]]:
    """Convert a page's text to HTML and contents; `known` are the sources that links may lead to."""
    md = markdown.Markdown(extensions=[*EXTENSIONS, PageLinksExtension(source, known)])
    made = Markup(md.convert(text))
    return made, list(flatten(md.toc_tokens))  # type: ignore[attr-defined]


class Templates:
    def __init__(self, folder: Path) -> None:
        self._env = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folder, encoding="utf-8"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
        )

    def render(self, name: str, where: str, variables: dict[str, object], missing: str) -> str:
        """Render a template; `missing` is the message for one that does not exist."""
        try:
            template = self._env.get_template(name)
        except jinja2.TemplateNotFound as exc:
            raise MillError(missing) from exc
        except jinja2.TemplateSyntaxError as exc:
            raise syntax_error(exc) from exc
        try:
            return template.render(variables)
        except jinja2.TemplateSyntaxError as exc:
            raise syntax_error(exc) from exc
        except Exception as exc:  # templates can raise anything
            raise MillError(f"{where}: {type(exc).__name__}: {exc}") from exc


def syntax_error(exc: jinja2.TemplateSyntaxError) -> MillError:
    return MillError(f"templates/{exc.name}:{exc.lineno}: {exc.message}")

"""Markdown and templates."""

from __future__ import annotations

from pathlib import Path

import jinja2
import markdown
from markupsafe import Markup

from .errors import MillError

EXTENSIONS = ["tables", "fenced_code"]


def to_html(text: str) -> Markup:
    return Markup(markdown.markdown(text, extensions=EXTENSIONS))


class Templates:
    def __init__(self, folder: Path) -> None:
        self._env = jinja2.Environment(
            loader=jinja2.FileSystemLoader(folder, encoding="utf-8"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
        )

    def render(self, name: str, where: str, variables: dict[str, object]) -> str:
        try:
            template = self._env.get_template(name)
        except jinja2.TemplateNotFound as exc:
            raise MillError(f"{where}: template not found: {name}") from exc
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

"""The site builder."""
import os
from dataclasses import dataclass, field
from typing import Any

import markdown
from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
)
from markupsafe import Markup

import frontmatter
from problems import SiteError

MARKDOWN_EXTENSIONS = ["tables", "fenced_code"]


@dataclass
class PageFile:
    """A Markdown page together with its metadata."""

    source: str
    url: str
    body: str
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def display_name(self) -> str:
        return f"content/{self.source}"

    @property
    def is_draft(self) -> bool:
        return self.metadata.get("draft") is True

    @property
    def template_name(self) -> str:
        return str(self.metadata.get("template", "page.html"))

    def context(self) -> dict[str, Any]:
        """The mapping that templates see as ``page``."""
        data = dict(self.metadata)
        default_title = os.path.basename(self.source)[: -len(".md")]
        data.setdefault("title", default_title)
        data["url"] = self.url
        data["source"] = self.source
        return data


class SiteBuilder:
    """Builds the site in two phases: render everything, then write everything."""

    def __init__(self, source: str, output: str) -> None:
        self.source = source
        self.output = output
        self.content_dir = os.path.join(source, "content")
        self.template_dir = os.path.join(source, "templates")

    def build(self) -> str:
        self._check_directories()
        all_pages = self._load_pages()
        pages = sorted((p for p in all_pages if not p.is_draft), key=lambda p: p.url)
        rendered = self._render(pages)
        self._write(rendered)

        report = [f"wrote {url}" for url in sorted(rendered)]
        report.append(f"built={len(rendered)} drafts={len(all_pages) - len(pages)}")
        return "\n".join(report) + "\n"

    def _check_directories(self) -> None:
        if not os.path.isdir(self.source):
            raise SiteError(f"{self.source}: not a directory")
        if not os.path.isdir(self.content_dir):
            raise SiteError("content: not a directory")
        if not os.path.isdir(self.template_dir):
            raise SiteError("templates: not a directory")
        if os.path.exists(self.output) and not os.path.isdir(self.output):
            raise SiteError(f"{self.output}: not a directory")

    def _load_pages(self) -> list[PageFile]:
        pages = []
        for folder, _, names in os.walk(self.content_dir):
            for name in names:
                if not name.endswith(".md"):
                    continue
                path = os.path.join(folder, name)
                relative = os.path.relpath(path, self.content_dir).replace(os.sep, "/")
                pages.append(self._load_page(path, relative))
        return pages

    def _load_page(self, path: str, relative: str) -> PageFile:
        try:
            with open(path, encoding="utf-8") as handle:
                text = handle.read()
        except (OSError, UnicodeDecodeError) as error:
            raise SiteError(f"content/{relative}: {error}") from error
        metadata, body = frontmatter.parse(text, f"content/{relative}")
        return PageFile(relative, relative[:-3] + ".html", body, metadata)

    def _render(self, pages: list[PageFile]) -> dict[str, str]:
        environment = Environment(
            loader=FileSystemLoader(self.template_dir),
            autoescape=True,
            undefined=StrictUndefined,
        )
        contexts = [page.context() for page in pages]
        rendered: dict[str, str] = {}
        for page, context in zip(pages, contexts):
            html = markdown.markdown(page.body, extensions=MARKDOWN_EXTENSIONS)
            variables = {
                "content": Markup(html),
                "page": context,
                "pages": contexts,
                "root": "../" * page.url.count("/"),
            }
            rendered[page.url] = self._render_template(environment, page, variables)
        return rendered

    @staticmethod
    def _render_template(environment: Environment, page: PageFile, variables: dict[str, Any]) -> str:
        name = page.template_name
        try:
            return environment.get_template(name).render(**variables)
        except TemplateNotFound as error:
            raise SiteError(f"{page.display_name}: template not found: {error.name}") from error
        except TemplateSyntaxError as error:
            raise SiteError(f"templates/{error.name}:{error.lineno}: {error.message}") from error
        except Exception as error:
            raise SiteError(f"{page.display_name}: {error}") from error

    def _write(self, rendered: dict[str, str]) -> None:
        os.makedirs(self.output, exist_ok=True)
        for url, text in rendered.items():
            target = os.path.join(self.output, *url.split("/"))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as handle:
                handle.write(text)

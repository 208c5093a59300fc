"""The site builder."""
import datetime
import os
import re
import shutil
from dataclasses import dataclass
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
from links import rewrite_links
from problems import SiteError
from settings import load_settings
from tags import collect_tags

MARKDOWN_EXTENSIONS = ["tables", "fenced_code"]
_DATE_PATTERN = re.compile(r"^\d{4}-\d{2}-\d{2}\Z", re.ASCII)


def is_valid_date(value: Any) -> bool:
    """True for an existing day written YYYY-MM-DD."""
    if not isinstance(value, str) or not _DATE_PATTERN.match(value):
        return False
    try:
        datetime.datetime.strptime(value, "%Y-%m-%d")
    except ValueError:
        return False
    return True


@dataclass
class PageFile:
    """A Markdown page together with its metadata."""

    source: str
    url: str
    body: str
    front: frontmatter.FrontMatter

    @property
    def metadata(self) -> dict[str, Any]:
        return self.front.values

    @property
    def display_name(self) -> str:
        return f"content/{self.source}"

    @property
    def is_draft(self) -> bool:
        return self.metadata.get("draft") is True

    @property
    def template_name(self) -> str:
        return str(self.metadata.get("template", "page.html"))

    def validate(self) -> None:
        if "date" in self.metadata and not is_valid_date(self.metadata["date"]):
            line = self.front.line_numbers["date"]
            raise SiteError(f"{self.display_name}:{line}: bad date: {self.front.raw['date']}")
        if not isinstance(self.metadata.get("tags", []), list):
            raise SiteError(f"{self.display_name}: tags must be a list")

    def context(self, base_url: str) -> dict[str, Any]:
        """The mapping that templates see as ``page``."""
        data = dict(self.metadata)
        default_title = os.path.basename(self.source)[: -len(".md")]
        data.setdefault("title", default_title)
        data.setdefault("date", "")
        data.setdefault("tags", [])
        data["url"] = self.url
        data["source"] = self.source
        data["permalink"] = f"{base_url}/{self.url}"
        return data


class SiteBuilder:
    """Builds the site in two phases: render everything, then write everything."""

    def __init__(self, source: str, output: str) -> None:
        self.source = source
        self.output = output
        self.content_dir = os.path.join(source, "content")
        self.template_dir = os.path.join(source, "templates")
        self.static_dir = os.path.join(source, "static")

    def build(self) -> str:
        self._check_directories()
        settings = load_settings(self.source)
        all_pages = self._load_pages()
        pages = sorted((p for p in all_pages if not p.is_draft), key=lambda p: p.url)
        rendered = self._render(pages, settings)
        static_files = self._find_static_files()
        for name in static_files:
            if name in rendered:
                raise SiteError(f"{name}: more than one source")
        self._write(rendered)
        self._copy(static_files)

        report = [f"wrote {url}" for url in sorted(rendered)]
        report += [f"copied {name}" for name in static_files]
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
        for relative in self._walk(self.content_dir):
            if relative.endswith(".md"):
                pages.append(self._load_page(relative))
        return pages

    @staticmethod
    def _walk(top: str) -> list[str]:
        """All files below a folder, relative to it, sorted."""
        found = []
        for folder, _, names in os.walk(top):
            for name in names:
                relative = os.path.relpath(os.path.join(folder, name), top)
                found.append(relative.replace(os.sep, "/"))
        return sorted(found)

    def _load_page(self, relative: str) -> PageFile:
        try:
            with open(os.path.join(self.content_dir, relative), encoding="utf-8") as handle:
                text = handle.read()
        except (OSError, UnicodeDecodeError) as error:
            raise SiteError(f"content/{relative}: {error}") from error
        front, body = frontmatter.parse(text, f"content/{relative}")
        page = PageFile(relative, relative[:-3] + ".html", body, front)
        page.validate()
        return page

    def _find_static_files(self) -> list[str]:
        return self._walk(self.static_dir)

    def _render(self, pages: list[PageFile], settings: dict[str, Any]) -> dict[str, str]:
        environment = Environment(
            loader=FileSystemLoader(self.template_dir),
            autoescape=True,
            undefined=StrictUndefined,
        )
        base_url = settings["base_url"]
        contexts = [page.context(base_url) for page in pages]
        tags = collect_tags(contexts)
        posts = [context for context in contexts if context["date"]]
        posts.sort(key=lambda post: (post["date"], post["url"]), reverse=True)
        shared = {"site": settings, "pages": contexts, "posts": posts, "tags": tags}
        known_sources = {page.source for page in pages}

        rendered: dict[str, str] = {}
        for page, context in zip(pages, contexts):
            html = markdown.markdown(page.body, extensions=MARKDOWN_EXTENSIONS)
            html = rewrite_links(html, page.source, known_sources)
            variables = {
                **shared,
                "content": Markup(html),
                "page": context,
                "root": "../" * page.url.count("/"),
            }
            rendered[page.url] = self._render_template(
                environment, page.template_name, page.display_name, variables
            )
        for tag in tags:
            if tag["url"] in rendered:
                raise SiteError(f"{tag['url']}: more than one source")
            if "tag.html" not in environment.list_templates():
                raise SiteError("templates/tag.html: template not found")
            variables = {
                **shared,
                "content": "",
                "page": {
                    "title": tag["name"],
                    "url": tag["url"],
                    "permalink": f"{base_url}/{tag['url']}",
                    "date": "",
                    "tags": [],
                },
                "root": "../",
                "tag": tag,
            }
            rendered[tag["url"]] = self._render_template(
                environment, "tag.html", "templates/tag.html", variables
            )
        return rendered

    @staticmethod
    def _render_template(
        environment: Environment, name: str, display_name: str, variables: dict[str, Any]
    ) -> str:
        try:
            return environment.get_template(name).render(**variables)
        except TemplateNotFound as error:
            raise SiteError(f"{display_name}: template not found: {error.name}") from error
        except TemplateSyntaxError as error:
            raise SiteError(f"templates/{error.name}:{error.lineno}: {error.message}") from error
        except Exception as error:
            raise SiteError(f"{display_name}: {error}") from error

    def _write(self, rendered: dict[str, str]) -> None:
        os.makedirs(self.output, exist_ok=True)
        for url, text in rendered.items():
            target = self._prepare_target(url)
            with open(target, "w", encoding="utf-8") as handle:
                handle.write(text)

    def _copy(self, static_files: list[str]) -> None:
        for name in static_files:
            shutil.copyfile(os.path.join(self.static_dir, name), self._prepare_target(name))

    def _prepare_target(self, name: str) -> str:
        target = os.path.join(self.output, *name.split("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        return target

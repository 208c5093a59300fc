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
from manifest import load_record, remove_stale, save_record
from paginate import make_paginators, piece_url
from problems import SiteError
from settings import load_settings
from sitemap import render_sitemap
from tags import collect_tags, slugify

MARKDOWN_EXTENSIONS = ["tables", "fenced_code", "toc"]
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


def flatten_toc(tokens: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Flatten the nested tokens of the toc extension, keeping levels 2 and 3."""
    flat = []
    for token in tokens:
        if token["level"] in (2, 3):
            flat.append({"level": token["level"], "id": token["id"], "name": token["name"]})
        flat.extend(flatten_toc(token["children"]))
    return flat


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
        for tag in self.metadata.get("tags", []):
            if not slugify(tag):
                raise SiteError(f"{self.display_name}: bad tag: {tag}")
        if "paginate" in self.metadata:
            size = self.metadata["paginate"]
            if not isinstance(size, int) or size < 1:
                raise SiteError(f"{self.display_name}: bad paginate: {self.front.raw['paginate']}")

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
    """Builds the site in two phases: render everything, then write everything.

    Problems are collected while rendering, so that ``check`` can report all of them.
    """

    def __init__(self, source: str, output: str | None = None, include_drafts: bool = False) -> None:
        self.source = source
        self.output = output
        self.include_drafts = include_drafts
        self.content_dir = os.path.join(source, "content")
        self.template_dir = os.path.join(source, "templates")
        self.static_dir = os.path.join(source, "static")
        self.messages: list[str] = []
        self.known_sources: set[str] = set()
        self.draft_count = 0
        self.rendered: dict[str, str] = {}
        self.sitemap_entries: list[tuple[str, str, str]] = []
        self.static_files: list[str] = []
        self.has_sitemap = False

    # -- commands ---------------------------------------------------------

    def check(self) -> list[str]:
        try:
            self._check_directories()
        except SiteError as error:
            return [str(error)]
        self._prepare()
        return sorted(set(self.messages))

    def build(self) -> str:
        self._check_directories()
        self._prepare()
        if self.messages:
            raise SiteError(self.messages[0])
        removed = self._write()

        written = list(self.rendered)
        page_count = len(written) - (1 if self.has_sitemap else 0)
        report = [f"wrote {url}" for url in sorted(written)]
        report += [f"copied {name}" for name in self.static_files]
        report += [f"removed {name}" for name in removed]
        report.append(f"built={page_count} drafts={self.draft_count}")
        return "\n".join(report) + "\n"

    # -- reading ----------------------------------------------------------

    def _check_directories(self) -> None:
        if not os.path.isdir(self.source):
            raise SiteError(f"{self.source}: not a directory")
        if not os.path.isdir(self.content_dir):
            raise SiteError("content: not a directory")
        if not os.path.isdir(self.template_dir):
            raise SiteError("templates: not a directory")
        if self.output and os.path.exists(self.output) and not os.path.isdir(self.output):
            raise SiteError(f"{self.output}: not a directory")

    @staticmethod
    def _walk(top: str) -> list[str]:
        """All files below a folder, relative to it, sorted."""
        found = []
        for folder, _, names in os.walk(top):
            for name in names:
                relative = os.path.relpath(os.path.join(folder, name), top)
                found.append(relative.replace(os.sep, "/"))
        return sorted(found)

    def _load_pages(self) -> list[PageFile]:
        pages = []
        for relative in self._walk(self.content_dir):
            if not relative.endswith(".md"):
                continue
            try:
                page = self._load_page(relative)
                if page.is_draft and not self.include_drafts:
                    self.draft_count += 1
                    continue
                self.known_sources.add(relative)
                page.validate()
                pages.append(page)
            except SiteError as error:
                self.known_sources.add(relative)
                self.messages.append(str(error))
        return sorted(pages, key=lambda page: page.url)

    def _load_page(self, relative: str) -> PageFile:
        try:
            with open(os.path.join(self.content_dir, relative), encoding="utf-8") as handle:
                text = handle.read()
        except (OSError, UnicodeDecodeError) as error:
            raise SiteError(f"content/{relative}: {error}") from error
        front, body = frontmatter.parse(text, f"content/{relative}")
        return PageFile(relative, relative[:-3] + ".html", body, front)

    # -- rendering --------------------------------------------------------

    def _prepare(self) -> None:
        try:
            self.settings = load_settings(self.source)
        except SiteError as error:
            self.messages.append(str(error))
            return
        self.environment = Environment(
            loader=FileSystemLoader(self.template_dir),
            autoescape=True,
            undefined=StrictUndefined,
        )
        base_url = self.settings["base_url"]
        pages = self._load_pages()
        contexts = [page.context(base_url) for page in pages]
        tags = collect_tags(contexts)
        posts = [context for context in contexts if context["date"]]
        posts.sort(key=lambda post: (post["date"], post["url"]), reverse=True)
        self.shared = {"site": self.settings, "pages": contexts, "posts": posts, "tags": tags}

        for page in pages:
            self._guard(self._render_page, page)
        for tag in tags:
            self._guard(self._render_tag, tag)
        if base_url:
            self._guard(self._render_sitemap)
        self.static_files = self._walk(self.static_dir)
        for name in self.static_files:
            if name in self.rendered:
                self.messages.append(f"{name}: more than one source")

    def _guard(self, function: Any, *args: Any) -> None:
        try:
            function(*args)
        except SiteError as error:
            self.messages.append(str(error))

    def _add(self, url: str, text: str) -> None:
        if url in self.rendered:
            raise SiteError(f"{url}: more than one source")
        self.rendered[url] = text

    def _render_page(self, page: PageFile) -> None:
        converter = markdown.Markdown(extensions=MARKDOWN_EXTENSIONS)
        html = converter.convert(page.body)
        html = rewrite_links(html, page.source, self.known_sources)
        toc = flatten_toc(converter.toc_tokens)

        paginators: list[dict[str, Any] | None] = [None]
        if "paginate" in page.metadata:
            paginators = list(make_paginators(self.shared["posts"], page.metadata["paginate"], page.url))

        for number, paginator in enumerate(paginators, start=1):
            url = piece_url(page.url, number)
            context = page.context(self.settings["base_url"])
            context["url"] = url
            context["permalink"] = f"{self.settings['base_url']}/{url}"
            context["toc"] = toc
            variables = {
                **self.shared,
                "content": Markup(html),
                "page": context,
                "root": "../" * url.count("/"),
                "paginator": paginator,
            }
            self._add(url, self._render_template(page.template_name, page.display_name, variables))
            if page.metadata.get("sitemap") is not False:
                self.sitemap_entries.append((url, context["permalink"], context["date"]))

    def _render_tag(self, tag: dict[str, Any]) -> None:
        if "tag.html" not in self.environment.list_templates():
            raise SiteError("templates/tag.html: template not found")
        permalink = f"{self.settings['base_url']}/{tag['url']}"
        variables = {
            **self.shared,
            "content": "",
            "page": {
                "title": tag["name"],
                "url": tag["url"],
                "permalink": permalink,
                "date": "",
                "tags": [],
                "toc": [],
            },
            "root": "../",
            "tag": tag,
            "paginator": None,
        }
        self._add(tag["url"], self._render_template("tag.html", "templates/tag.html", variables))
        self.sitemap_entries.append((tag["url"], permalink, ""))

    def _render_sitemap(self) -> None:
        self._add("sitemap.xml", render_sitemap(self.sitemap_entries))
        self.has_sitemap = True

    def _render_template(self, name: str, display_name: str, variables: dict[str, Any]) -> str:
        try:
            return self.environment.get_template(name).render(**variables)
        except TemplateNotFound as error:
            raise SiteError(f"{display_name}: template not found: {error.name}") from error
        except TemplateSyntaxError as error:
            raise SiteError(f"templates/{error.name}:{error.lineno}: {error.message}") from error
        except Exception as error:
            raise SiteError(f"{display_name}: {error}") from error

    # -- writing ----------------------------------------------------------

    def _write(self) -> list[str]:
        os.makedirs(self.output, exist_ok=True)
        made = [*self.rendered, *self.static_files]
        removed = remove_stale(self.output, [n for n in load_record(self.output) if n not in made])
        for url, text in self.rendered.items():
            with open(self._prepare_target(url), "w", encoding="utf-8") as handle:
                handle.write(text)
        for name in self.static_files:
            shutil.copyfile(os.path.join(self.static_dir, name), self._prepare_target(name))
        save_record(self.output, made)
        return removed

    def _prepare_target(self, name: str) -> str:
        target = os.path.join(self.output, *name.split("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        return target

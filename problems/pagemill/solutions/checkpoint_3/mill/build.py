"""Building a site: everything is made in memory first, then written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from . import record
from .errors import MillError
from .pages import Page, find_sources, read_page, root_of, source_of
from .render import Templates, to_html
from .settings import read_settings
from .sitemap import NAME as SITEMAP
from .sitemap import sitemap
from .tags import check as check_tags
from .tags import collect


@dataclass
class Result:
    """What a build will write, and the problems that keep it from doing so."""

    html: dict[str, str] = field(default_factory=dict)
    others: dict[str, bytes] = field(default_factory=dict)
    copies: dict[str, Path] = field(default_factory=dict)
    drafts: int = 0
    problems: list[str] = field(default_factory=list)

    def claim(self, path: str) -> str:
        if path in self.html or path in self.others or path in self.copies:
            raise MillError(f"{path}: more than one source")
        return path


def require_folder(path: Path, name: str) -> None:
    if not path.is_dir():
        raise MillError(f"{name}: not a directory")


def newest_first(views: list[SimpleNamespace]) -> list[SimpleNamespace]:
    """The dated ones of the pages, which come sorted by URL; sorting is stable."""
    return sorted((view for view in views if view.date), key=lambda view: view.date, reverse=True)


class Maker:
    def __init__(self, source: Path, given: str, drafts: bool) -> None:
        self.source = source
        self.given = given
        self.drafts = drafts
        self.result = Result()
        self.known: set[str] = set()
        self.entries: dict[str, tuple[str, str]] = {}

    def make(self) -> Result:
        try:
            require_folder(self.source, self.given)
            require_folder(self.source / "content", "content")
            require_folder(self.source / "templates", "templates")
        except MillError as exc:
            self.result.problems.append(str(exc))
            return self.result
        try:
            self.site = read_settings(self.source)
        except MillError as exc:
            self.result.problems.append(str(exc))
            self.site = SimpleNamespace(title="Untitled", base_url="")
        self.engine = Templates(self.source / "templates")
        pages = sorted(self.read(), key=lambda page: page.url)
        views = [page.view(self.site.base_url) for page in pages]
        self.tags = collect(views)
        self.posts = newest_first(views)
        self.common = {"site": self.site, "pages": views, "posts": self.posts, "tags": self.tags}
        for page in pages:
            self.attempt(self.make_page, page)
        for tag in self.tags:
            self.attempt(self.make_tag, tag)
        self.make_static()
        if self.site.base_url:
            self.attempt(self.make_sitemap)
        return self.result

    def attempt(self, action, *arguments) -> None:
        try:
            action(*arguments)
        except MillError as exc:
            if str(exc) not in self.result.problems:
                self.result.problems.append(str(exc))

    def read(self) -> list[Page]:
        content = self.source / "content"
        pages = []
        for path in find_sources(content):
            source = source_of(content, path)
            try:
                page = read_page(content, path)
                if page.draft and not self.drafts:
                    self.result.drafts += 1
                    continue
                self.known.add(source)
                page.check()
                check_tags(page.matter.values.get("tags", []), page.where)
            except MillError as exc:
                self.known.add(source)
                self.result.problems.append(str(exc))
            else:
                pages.append(page)
        return pages

    def make_page(self, page: Page) -> None:
        html, toc = to_html(page.text, page.source, self.known)
        missing = f"{page.where}: template not found: {page.template}"
        size = page.paginate
        pieces = [self.posts[i : i + size] for i in range(0, len(self.posts), size)] if size else []
        total = max(len(pieces), 1)
        for number in range(1, total + 1):
            url = self.result.claim(page.piece_url(number))
            view = page.view(self.site.base_url)
            view.url, view.permalink, view.toc = url, f"{self.site.base_url}/{url}", toc
            paginator = None
            if size:
                paginator = SimpleNamespace(
                    posts=pieces[number - 1] if pieces else [],
                    number=number,
                    total=total,
                    prev_url=page.piece_url(number - 1) if number > 1 else None,
                    next_url=page.piece_url(number + 1) if number < total else None,
                )
            variables = {
                **self.common,
                "content": html,
                "page": view,
                "root": root_of(url),
                "paginator": paginator,
            }
            self.result.html[url] = self.engine.render(page.template, page.where, variables, missing)
            if page.in_sitemap:
                self.entries[url] = (view.permalink, view.date)

    def make_tag(self, tag: SimpleNamespace) -> None:
        url = self.result.claim(tag.url)
        permalink = f"{self.site.base_url}/{url}"
        view = SimpleNamespace(title=tag.name, url=url, permalink=permalink, date="", tags=[], toc=[])
        variables = {
            **self.common,
            "content": "",
            "page": view,
            "root": root_of(url),
            "tag": tag,
            "paginator": None,
        }
        missing = "templates/tag.html: template not found"
        self.result.html[url] = self.engine.render("tag.html", "templates/tag.html", variables, missing)
        self.entries[url] = (permalink, "")

    def make_static(self) -> None:
        static = self.source / "static"
        for path in sorted(static.rglob("*")):
            if path.is_file():
                self.attempt(self.make_copy, path.relative_to(static).as_posix(), path)

    def make_copy(self, name: str, path: Path) -> None:
        self.result.copies[self.result.claim(name)] = path

    def make_sitemap(self) -> None:
        entries = [self.entries[url] for url in sorted(self.entries)]
        self.result.others[self.result.claim(SITEMAP)] = sitemap(entries)


def write(result: Result, output: Path) -> list[str]:
    """Write all files and return the names of those that were removed."""
    contents = {url: text.encode("utf-8") for url, text in result.html.items()}
    contents |= result.others
    contents |= {path: origin.read_bytes() for path, origin in result.copies.items()}
    output.mkdir(parents=True, exist_ok=True)
    removed = record.remove(output, record.read(output) - contents.keys())
    for path, data in contents.items():
        target = output / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    record.write(output, contents)
    return removed


def build(source: str, output: str, drafts: bool) -> list[str]:
    """Build the site and return the lines to print."""
    target = Path(output)
    if target.exists():
        require_folder(target, output)
    result = Maker(Path(source), source, drafts).make()
    if result.problems:
        raise MillError(result.problems[0])
    try:
        removed = write(result, target)
    except OSError as exc:
        raise MillError(f"{output}: {exc}") from exc
    lines = [f"wrote {url}" for url in sorted([*result.html, *result.others])]
    lines += [f"copied {path}" for path in sorted(result.copies)]
    lines += [f"removed {path}" for path in removed]
    return [*lines, f"built={len(result.html)} drafts={result.drafts}"]


def check(source: str) -> list[str]:
    """All problems of the site, sorted."""
    return sorted(Maker(Path(source), source, drafts=False).make().problems)

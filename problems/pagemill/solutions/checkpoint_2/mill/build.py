"""Building a site: everything is made in memory first, then written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from .errors import MillError
from .pages import find_sources, read_page, root_of
from .render import Templates, to_html
from .settings import read_settings
from .tags import collect


@dataclass
class Result:
    html: dict[str, str] = field(default_factory=dict)
    copies: dict[str, Path] = field(default_factory=dict)
    drafts: int = 0

    def claim(self, path: str) -> str:
        if path in self.html or path in self.copies:
            raise MillError(f"{path}: more than one source")
        return path


def require_folder(path: Path, name: str) -> None:
    if not path.is_dir():
        raise MillError(f"{name}: not a directory")


def newest_first(views: list[SimpleNamespace]) -> list[SimpleNamespace]:
    """The dated ones of the pages, which come sorted by URL; sorting is stable."""
    return sorted((view for view in views if view.date), key=lambda view: view.date, reverse=True)


def make(source: Path, given: str) -> Result:
    require_folder(source, given)
    content, templates = source / "content", source / "templates"
    require_folder(content, "content")
    require_folder(templates, "templates")

    site = read_settings(source)
    found = [read_page(content, path) for path in find_sources(content)]
    pages = sorted((page for page in found if not page.draft), key=lambda page: page.url)
    known = {page.source for page in pages}
    views = [page.view(site.base_url) for page in pages]
    tags = collect(views)
    common = {"site": site, "pages": views, "posts": newest_first(views), "tags": tags}

    engine = Templates(templates)
    result = Result(drafts=len(found) - len(pages))
    for page, view in zip(pages, views, strict=True):
        html = to_html(page.text, page.source, known)
        variables = {**common, "content": html, "page": view, "root": root_of(page.url)}
        missing = f"{page.where}: template not found: {page.template}"
        result.html[result.claim(page.url)] = engine.render(page.template, page.where, variables, missing)
    for tag in tags:
        view = SimpleNamespace(title=tag.name, url=tag.url, permalink=f"{site.base_url}/{tag.url}", date="", tags=[])
        variables = {**common, "content": "", "page": view, "root": root_of(tag.url), "tag": tag}
        missing = "templates/tag.html: template not found"
        result.html[result.claim(tag.url)] = engine.render("tag.html", "templates/tag.html", variables, missing)
    static = source / "static"
    for path in sorted(static.rglob("*")):
        if path.is_file():
            result.copies[result.claim(path.relative_to(static).as_posix())] = path
    return result


def write(result: Result, output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    contents = {url: text.encode("utf-8") for url, text in result.html.items()}
    contents |= {path: origin.read_bytes() for path, origin in result.copies.items()}
    for path, data in contents.items():
        target = output / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def build(source: str, output: str) -> list[str]:
    """Build the site and return the lines to print."""
    target = Path(output)
    if target.exists():
        require_folder(target, output)
    result = make(Path(source), source)
    try:
        write(result, target)
    except OSError as exc:
        raise MillError(f"{output}: {exc}") from exc
    lines = [f"wrote {url}" for url in sorted(result.html)]
    lines += [f"copied {path}" for path in sorted(result.copies)]
    return [*lines, f"built={len(result.html)} drafts={result.drafts}"]

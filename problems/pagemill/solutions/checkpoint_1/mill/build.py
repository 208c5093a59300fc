"""Building a site: everything is made in memory first, then written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .errors import MillError
from .pages import find_sources, read_page, root_of
from .render import Templates, to_html


@dataclass
class Result:
    files: dict[str, str]
    drafts: int


def require_folder(path: Path, name: str) -> None:
    if not path.is_dir():
        raise MillError(f"{name}: not a directory")


def make(source: Path, given: str) -> Result:
    require_folder(source, given)
    content, templates = source / "content", source / "templates"
    require_folder(content, "content")
    require_folder(templates, "templates")

    found = [read_page(content, path) for path in find_sources(content)]
    pages = sorted((page for page in found if not page.draft), key=lambda page: page.url)
    engine = Templates(templates)
    views = [page.view() for page in pages]
    files = {}
    for page, view in zip(pages, views, strict=True):
        variables = {"content": to_html(page.text), "page": view, "pages": views, "root": root_of(page.url)}
        files[page.url] = engine.render(page.template, page.where, variables)
    return Result(files, len(found) - len(pages))


def write(result: Result, output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    for url, text in result.files.items():
        target = output / url
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


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
    lines = [f"wrote {url}" for url in sorted(result.files)]
    return [*lines, f"built={len(result.files)} drafts={result.drafts}"]

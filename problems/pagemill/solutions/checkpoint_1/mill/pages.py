"""Reading the pages of a site."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from .errors import MillError
from .frontmatter import FrontMatter, split_page


@dataclass
class Page:
    source: str
    url: str
    matter: FrontMatter
    text: str

    @property
    def where(self) -> str:
        return f"content/{self.source}"

    @property
    def title(self) -> object:
        return self.matter.values.get("title", Path(self.source).stem)

    @property
    def template(self) -> str:
        return str(self.matter.values.get("template", "page.html"))

    @property
    def draft(self) -> bool:
        return self.matter.values.get("draft") is True

    def view(self) -> SimpleNamespace:
        """What templates see: attributes only, so that no key is hidden by a method."""
        return SimpleNamespace(
            **{**self.matter.values, "title": self.title, "url": self.url, "source": self.source}
        )


def root_of(url: str) -> str:
    return "../" * url.count("/")


def read_text(path: Path, where: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise MillError(f"{where}: {exc}") from exc


def read_page(content: Path, path: Path) -> Page:
    source = path.relative_to(content).as_posix()
    where = f"content/{source}"
    matter, text = split_page(read_text(path, where), where)
    return Page(source, source[: -len(".md")] + ".html", matter, text)


def find_sources(content: Path) -> list[Path]:
    return sorted(path for path in content.rglob("*.md") if path.is_file())

"""Reading the pages of a site."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from .errors import MillError
from .frontmatter import FrontMatter, split_page

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


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

    def view(self, base_url: str) -> SimpleNamespace:
        """What templates see: attributes only, so that no key is hidden by a method."""
        values = {"date": "", "tags": [], **self.matter.values}
        values |= {
            "title": self.title,
            "url": self.url,
            "source": self.source,
            "permalink": f"{base_url}/{self.url}",
        }
        return SimpleNamespace(**values)

    @property
    def paginate(self) -> int | None:
        return self.matter.values.get("paginate")  # type: ignore[return-value]

    @property
    def in_sitemap(self) -> bool:
        return self.matter.values.get("sitemap") is not False

    def piece_url(self, number: int) -> str:
        return self.url if number == 1 else f"{self.url.removesuffix('.html')}-{number}.html"

    def check(self) -> None:
        if "date" in self.matter.values and not is_date(self.matter.values["date"]):
            raise MillError(f"{self.where}:{self.matter.lines['date']}: bad date: {self.matter.raw['date']}")
        if not isinstance(self.matter.values.get("tags", []), list):
            raise MillError(f"{self.where}: tags must be a list")
        size = self.matter.values.get("paginate", 1)
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise MillError(f"{self.where}: bad paginate: {self.matter.raw['paginate']}")


def is_date(value: object) -> bool:
    if not isinstance(value, str) or not DATE.fullmatch(value):
        return False
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        return False
    return True


def root_of(url: str) -> str:
    return "../" * url.count("/")


def read_text(path: Path, where: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise MillError(f"{where}: {exc}") from exc


def source_of(content: Path, path: Path) -> str:
    return path.relative_to(content).as_posix()


def read_page(content: Path, path: Path) -> Page:
    source = source_of(content, path)
    where = f"content/{source}"
    matter, text = split_page(read_text(path, where), where)
    return Page(source, source[: -len(".md")] + ".html", matter, text)


def find_sources(content: Path) -> list[Path]:
    return sorted(path for path in content.rglob("*.md") if path.is_file())

"""What the tests of pagemill share: writing sites, running the program, reading what it wrote."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from bs4 import BeautifulSoup

DATA = Path(__file__).parent / "data"
SECONDS = 25
SIMPLE = "<title>{{ page.title }}</title><main>{{ content }}</main>"


def write_site(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write the files below the folder; a site always has `content` and `templates`."""
    for name in ("content", "templates"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
    return folder


def copy_site(name: str, folder: Path) -> Path:
    """Copy a site from the data folder, with the usual modes of new files."""
    top = DATA / name
    return write_site(
        folder,
        {path.relative_to(top).as_posix(): path.read_bytes() for path in top.rglob("*") if path.is_file()},
    )


class Outcome:
    """One run of the program and the output folder after it."""

    def __init__(self, done: subprocess.CompletedProcess[str], output: Path) -> None:
        self.code = done.returncode
        self.stdout = done.stdout
        self.stderr = done.stderr
        self.output = output

    @property
    def lines(self) -> list[str]:
        return self.stdout.splitlines()

    def ok(self) -> Outcome:
        assert self.code == 0, f"exit code {self.code}, standard error:\n{self.stderr}"
        return self

    def text(self, name: str) -> str:
        self.ok()
        path = self.output / name
        assert path.is_file(), f"{name} was not written"
        return path.read_text(encoding="utf-8")

    def html(self, name: str) -> BeautifulSoup:
        return BeautifulSoup(self.text(name), "html.parser")

    def files(self) -> list[str]:
        """All files in the output folder but hidden ones."""
        self.ok()
        paths = (path for path in self.output.rglob("*") if path.is_file())
        return sorted(
            path.relative_to(self.output).as_posix() for path in paths if not path.name.startswith(".")
        )

    def failed(self, start: str, *, whole: bool = True) -> None:
        """The run ended with this error line (or one that begins like it) and made no output folder."""
        assert "Traceback" not in self.stderr, self.stderr
        assert self.code == 1, f"exit code {self.code}, standard error:\n{self.stderr}"
        assert self.stdout == ""
        lines = self.stderr.splitlines()
        assert len(lines) == 1, lines
        if whole:
            assert lines[0].rstrip() == start
        else:
            assert lines[0].startswith(start)
            assert len(lines[0].rstrip()) > len(start.rstrip()), "nothing follows the place of the error"


class Pagemill:
    """Runs the program in the current folder and environment."""

    def __init__(self, entrypoint: str) -> None:
        self._command = shlex.split(entrypoint)

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._command, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=SECONDS,
            check=False,
        )

    def build(self, source: Path, output: Path, *options: str) -> Outcome:
        return Outcome(self.run("build", *options, source, output), output)


def texts(elements: object) -> list[str]:
    return [element.get_text().strip() for element in elements]  # type: ignore[attr-defined]

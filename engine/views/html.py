"""A run as one HTML file that opens from disk: no network, no server, nothing beside it.

The page is `assets/`: a template, a style sheet and scripts that run in the order of their names. What
submissions said reaches it only as compressed JSON, which the scripts put into the page as text; the policy
in its head lets no other script run. Plots are drawn by plotly.js, which the package `plotly` carries;
without it the page says so and shows the same numbers in tables.
"""

import base64
import hashlib
import html
import importlib.util
import zlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from engine.views.htmldata import Packer
from engine.views.run import FinishedRun

ASSETS = Path(__file__).parent / "assets"


def render(run: FinishedRun) -> bytes:
    """Render a run as one HTML page."""
    packer = Packer(run)
    chunks = [_data(f"chunk-{number}", _packed(chunk)) for number, chunk in enumerate(packer.chunks())]
    script = _script()
    library = plotting_library()
    policy = [_source(script)]
    data = [_data("head", _packed(packer.head())), *chunks]
    if library is not None:
        policy.append(library.source)
        data.append(_data("plots", library.packed))
    return _filled(
        {
            "TITLE": html.escape(f"{run.name or 'Run'} · {run.run_id}"),
            "POLICY": " ".join(policy),
            "STYLE": (ASSETS / "report.css").read_text("utf-8"),
            "DATA": "\n".join(data),
            "SCRIPT": script,
        }
    ).encode()


def plotting_library() -> "Library | None":
    """Find plotly.js where the package that carries it is installed."""
    # Importing the package would take longer than everything else here.
    found = importlib.util.find_spec("plotly")
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder) / "package_data" / "plotly.min.js"
        if path.is_file():
            return _library(path)
    return None


class Library:
    """A script that is brought along compressed, and run only when a plot is looked at."""

    def __init__(self, text: str) -> None:
        self.source = _source(text)
        self.packed = _packed(text.encode())


@lru_cache(maxsize=1)
def _library(path: Path) -> Library:
    return Library(path.read_text("utf-8"))


def _script() -> str:
    texts = (path.read_text("utf-8") for path in sorted(ASSETS.glob("*.js")))
    return '"use strict";\n(() => {\n' + "\n".join(texts) + "\n})();\n"


def _source(script: str) -> str:
    """What the page's policy calls a script, which must be exactly this one."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode()


def _data(name: str, packed: str) -> str:
    return f'<script type="text/plain" id="{name}">{packed}</script>'


def _filled(values: Mapping[str, str]) -> str:
    # No value has a mark in it: the title is escaped, the data is base64, the rest is our own.
    page = (ASSETS / "report.html").read_text("utf-8")
    for name, value in values.items():
        before, _, after = page.partition(f"<!--{name}-->")
        page = f"{before}{value}{after}"
    return page

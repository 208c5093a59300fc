"""Evaluations that arrive one a line on standard input, as JSON.

A line says what an entry of `evaluations` in a manifest says; what it leaves out comes from a base
manifest. A bad line is told with its number and does not stop the rest. Memory does not grow with the
number of lines: which evaluations were seen is kept in a temporary file.
"""

import sqlite3
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Self

import msgspec

from engine.errors import DocumentError, Place
from engine.evaluation import Evaluation
from engine.manifest import Manifest
from engine.manifestdocument import EvaluationDocument
from engine.mistakes import nearest
from engine.plan import Expansion, Request, exact_labels
from engine.yamlfile import Document, Layers, convert, read_bytes

NAME = "standard input"


class BadLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that is no evaluation, and why."""

    number: int
    places: tuple[Place, ...]

    @property
    def message(self) -> str:
        """What is wrong, for people."""
        return "\n".join(map(str, self.places))


def looks_like_lines(beginning: bytes) -> bool:
    """Whether standard input is one evaluation a line rather than one manifest."""
    first = beginning.lstrip().split(b"\n", 1)[0]
    try:
        fields = msgspec.json.decode(first, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return False
    return not fields.keys() & {"version", "problems", "include", "submissions", "evaluations"}


class LineReader:
    """Turns lines into evaluations, one after the other."""

    def __init__(
        self, base: Manifest, folder: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> None:
        self._part = base.parts[0]
        self._expansion = Expansion(self._part)
        self._folder = folder or Path.cwd()
        self._variables = {} if variables is None else variables
        self._number = 0
        # An empty name is a database of our own in a temporary file, gone when it is closed.
        self._seen = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._seen.execute("pragma journal_mode = off")
        self._seen.execute("pragma synchronous = off")
        self._seen.execute("create table seen (id text primary key, line integer) without rowid")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._seen.close()

    def read(self, line: bytes) -> Iterator[Evaluation | BadLine]:
        """Give the evaluations that the next line asks for: none for an empty one, several for repeats."""
        self._number += 1
        if not line.strip():
            return
        try:
            request = self._request(line)
        except DocumentError as error:
            yield self._bad(*error.places)
            return
        items = list(self._expansion.evaluations(request))
        for item in items or [self._left_out(request)]:
            yield self._bad(item) if isinstance(item, Place) else self._once(item, request)

    def _left_out(self, request: Request) -> Place:
        message = f"{request.problem}/{request.checkpoint} cannot be evaluated"
        hint = "the problem is not valid, or the base manifest leaves it out"
        return request.layers.place(("problem",), message, hint)

    def _request(self, line: bytes) -> Request:
        document = self._document(line)
        written = convert(document, EvaluationDocument)
        layers = Layers([document])
        if written.environment is not None and written.environment not in self._part.environments:
            message = f"there is no environment `{written.environment}`"
            hint = nearest(written.environment, self._part.environments)
            raise DocumentError((layers.place(("environment",), message, hint),))
        return Request(
            problem=written.problem,
            checkpoint=written.checkpoint,
            submission=document.resolve(written.submission),
            written=written.submission,
            labels=exact_labels(layers, ("labels",), written.labels),
            environment=written.environment,
            layers=layers,
            keys=(),
        )

    def _document(self, line: bytes) -> Document:
        try:
            return read_bytes(
                line.rstrip(b"\r\n"),
                name=NAME,
                folder=self._folder,
                variables=self._variables,
                first_line=self._number,
            )
        except DocumentError as error:
            place = error.places[0]
            raise DocumentError((msgspec.structs.replace(place, message="not a line of JSON"),)) from error

    def _once(self, evaluation: Evaluation, request: Request) -> Evaluation | BadLine:
        row = self._seen.execute("select line from seen where id = ?", (evaluation.id,)).fetchone()
        if row is None:
            self._seen.execute("insert into seen values (?, ?)", (evaluation.id, self._number))
            return evaluation
        message = f"the same evaluation as line {row[0]}: {evaluation.id}"
        return self._bad(request.layers.place((), message, "tell them apart by a label"))

    def _bad(self, *places: Place) -> BadLine:
        return BadLine(number=self._number, places=places)


def read_lines(lines: Iterable[bytes], base: Manifest) -> Iterator[Evaluation | BadLine]:
    """Turn lines into evaluations as they come."""
    with LineReader(base) as reader:
        for line in lines:
            yield from reader.read(line)


async def read_lines_async(
    lines: AsyncIterable[bytes], base: Manifest
) -> AsyncIterator[Evaluation | BadLine]:
    """Turn lines into evaluations as they come; nothing is read ahead of who consumes them."""
    with LineReader(base) as reader:
        async for line in lines:
            for item in reader.read(line):
                yield item

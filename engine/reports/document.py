"""The one form that all reports are read into, and how a damaged JSON document is still read.

`read` decodes with a typed decoder at full speed. Only when that fails is the document mended, as bytes
and without ever building a tree of it: Python's own writer puts out NaN, Infinity and lone surrogates,
which are not JSON. A lone surrogate is then read as its six-character escape, so that ids which differ
stay different and can be printed and stored.
"""

import ast
import codecs
import math
import re
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

import msgspec

from engine.results import Status, printable

MAX_BYTES = 256 * 1024**2
MAX_MESSAGE = 8_000
MAX_WARNINGS = 20

T = TypeVar("T")


class ReportedTest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a report says of one test."""

    nodeid: str
    status: Status
    duration_ms: float = 0.0
    message: str | None = None
    # Marker names, where the format has them.
    tags: tuple[str, ...] = ()
    # Whether the test's own code ran; None where the format cannot tell.
    has_call: bool | None = None
    # False where the format lost the outcome, so that `status` is only the most careful guess.
    certain: bool = True


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one report file says."""

    tests: tuple[ReportedTest, ...]
    exit_code: int | None = None
    collected: int | None = None
    collection_errors: tuple[str, ...] = ()
    # Tests of which not even the name can be read.
    unnamed: int = 0
    warnings: tuple[str, ...] = ()


class Undecodable(msgspec.Struct, frozen=True, kw_only=True):
    """Why a report file says nothing."""

    reason: Literal["missing", "truncated", "too_large", "invalid"]
    detail: str


class Document(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A decoded document, and what had to be mended to decode it."""

    content: T
    repairs: tuple[str, ...] = ()


def read(data: bytes, decoder: msgspec.json.Decoder[T]) -> Document[T] | Undecodable:
    """Decode a document, mending first what real reports are known to get wrong."""
    if len(data) > MAX_BYTES:
        return Undecodable(reason="too_large", detail=f"{len(data)} bytes are more than {MAX_BYTES}")
    if not data.strip():
        return Undecodable(reason="truncated", detail="the file is empty")
    try:
        return Document(content=decoder.decode(data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        mended, repairs = _mend(data)
        if not repairs:
            return _undecodable(error)
    try:
        return Document(content=decoder.decode(mended), repairs=repairs)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _undecodable(error)


def _undecodable(error: Exception) -> Undecodable:
    detail = printable(str(error))
    reason: Literal["truncated", "invalid"] = "truncated" if "truncated" in detail else "invalid"
    return Undecodable(reason=reason, detail=detail)


class _Named(msgspec.Struct, frozen=True, kw_only=True):
    nodeid: str = ""
    name: str = ""


_NAMED_DECODER = msgspec.json.Decoder(_Named)
_TEXT_DECODER = msgspec.json.Decoder(str)


class Entries(msgspec.Struct, frozen=True, kw_only=True):
    """The tests of a report, and which of them could not be read."""

    tests: tuple[ReportedTest, ...]
    unnamed: int = 0
    warnings: tuple[str, ...] = ()


def read_one_by_one(
    raw_tests: tuple[msgspec.Raw, ...],
    decoder: msgspec.json.Decoder[T],
    convert: Callable[[T], ReportedTest],
) -> Entries:
    """Read the tests of a report one by one, so that one that is wrong costs only itself."""
    tests, warnings = [], []
    for index, raw in enumerate(raw_tests):
        try:
            tests.append(convert(decoder.decode(raw)))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            nodeid = _name(raw)
            warnings.append(f"test {index} ({nodeid or 'without a name'}) is not readable: {error}")
            if nodeid:
                message = f"its entry in the report is not readable: {error}"
                tests.append(ReportedTest(nodeid=nodeid, status="error", message=message, certain=False))
    unnamed = len(raw_tests) - len(tests)
    return Entries(tests=tuple(tests), unnamed=unnamed, warnings=tuple(warnings[:MAX_WARNINGS]))


def _name(raw: msgspec.Raw) -> str:
    try:
        named = _NAMED_DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return named.nodeid or named.name


def text_of(raw: msgspec.Raw) -> str:
    """Return the string that raw JSON holds; whatever else it may be reads as no text."""
    try:
        return _TEXT_DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


def milliseconds(seconds: float) -> float:
    """Return a time in milliseconds that can be added up: finite and not negative."""
    product = seconds * 1000
    return product if 0.0 < product < math.inf else 0.0


_UNDECODED = re.compile("[\udc80-\udcff]")
_PIECE = 1 << 20
_BOM = b"\xef\xbb\xbf"
# Possessive, so that a string of many megabytes costs no stack and is never tried twice. A number must stand
# alone and be well formed but for its size: mending must not make a document of what is none.
_TOKEN = re.compile(
    rb'''"[^"\\]*+(?:\\.[^"\\]*+)*+"'''
    rb"|(?<![\w.+-])(?:-?Infinity|NaN|-?(?:0|[1-9]\d*+)(?:\.\d++)?+[eE]\+?\d{3,}+)(?![\w.+-])",
    re.DOTALL,
)
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _decodable(data: bytes) -> bytes:
    # Piece by piece, because one odd character makes Python's text four times as large as the bytes.
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    pieces = (data[start : start + _PIECE] for start in range(0, len(data), _PIECE))
    return b"".join(_written_out(decoder.decode(piece)) for piece in pieces) + _written_out(
        decoder.decode(b"", final=True)
    )


def _written_out(text: str) -> bytes:
    # Doubled, because the backslash stands inside of a JSON string.
    return _UNDECODED.sub(lambda match: f"\\\\x{ord(match[0]) - 0xDC00:02x}", text).encode()


def _mend(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    repairs: dict[str, None] = {}
    if data.startswith(_BOM):
        data = data[len(_BOM) :]
        repairs["a byte order mark was left out"] = None
    decodable = _decodable(data)
    if decodable != data:
        data = decodable
        repairs["bytes that are not UTF-8 were written out"] = None

    def mend_escape(match: re.Match[bytes]) -> bytes:
        if match[1] is None:
            return match[0]
        repairs["lone surrogates were written out"] = None
        return rb"\\u" + match[1].lower()

    def mend_token(match: re.Match[bytes]) -> bytes:
        if match[0].startswith(b'"'):
            return _ESCAPE.sub(mend_escape, match[0]) if b"\\u" in match[0] else match[0]
        repairs["numbers that are not finite were read as 0"] = None
        return b"0"

    return _TOKEN.sub(mend_token, data), tuple(repairs)


_TERMINAL_CODE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROL_CHARACTERS = dict.fromkeys([*range(32), 127])
del _CONTROL_CHARACTERS[ord("\n")], _CONTROL_CHARACTERS[ord("\t")]
_SKIPPED = re.compile(r"\(.*, \d+, .*\)", re.DOTALL)


def readable(text: str) -> str | None:
    """Return a message as people can read it, of bounded length, or None if there is none."""
    text = printable(text)
    if len(text) > MAX_MESSAGE:
        half = MAX_MESSAGE // 2
        text = f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
    if "\x1b" in text:
        text = _TERMINAL_CODE.sub("", text)
    return text.translate(_CONTROL_CHARACTERS).strip() or None


def skip_reason(text: str) -> str:
    """Return why a test was skipped, out of the tuple (file, line, reason) that pytest makes of it."""
    if len(text) > MAX_MESSAGE or not _SKIPPED.fullmatch(text):
        return text
    try:
        place = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    if not (isinstance(place, tuple) and len(place) == 3):
        return text
    return str(place[2]).removeprefix("Skipped: ")

"""Length-prefixed frames over a pair of descriptors.

A frame is one letter, four bytes of length and a payload. Capital letters travel into the container,
small ones out of it.
"""

from __future__ import annotations

import json
import os
import re
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SURROGATES = re.compile("[\ud800-\udfff]")
HEADER = struct.Struct(">cI")
CHUNK = 1 << 18

# Into the container.
JOB = b"J"
ARCHIVE = b"A"
DATA = b"D"
ARCHIVE_END = b"Z"

# Out of the container.
PHASE = b"p"
COLLECTED = b"c"
TEST = b"t"
STDOUT = b"o"
STDERR = b"e"
REPORT = b"r"
PACKED = b"a"
BYTES = b"d"
BYTES_END = b"z"
RESULT = b"y"
PULSE = b"u"
END = b"x"


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however often the system call stops short."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def read_exactly(descriptor: int, size: int) -> bytes:
    """Read so many bytes, or raise EOFError."""
    parts = []
    while size:
        part = os.read(descriptor, min(size, CHUNK))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def dump(value: object) -> bytes:
    """Encode a value as JSON that every decoder accepts: a lone surrogate reads as its escape."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return SURROGATES.sub(lambda found: "\\\\u%04x" % ord(found[0]), text).encode()


class Channel:
    """Both directions of the stream to the engine."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self.incoming = incoming
        self.outgoing = outgoing

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        """Send one frame."""
        write_all(self.outgoing, HEADER.pack(kind, len(payload)) + payload)

    def send_json(self, kind: bytes, value: object) -> None:
        """Send one frame with a JSON payload."""
        self.send(kind, dump(value))

    def receive(self) -> tuple[bytes, bytes]:
        """Wait for one frame; return its letter and payload."""
        kind, size = HEADER.unpack(read_exactly(self.incoming, HEADER.size))
        return kind, read_exactly(self.incoming, size)

    def archives(self) -> Iterator[tuple[str, ArchiveReader]]:
        """Yield the name of each archive that follows and a file-like reader of its bytes."""
        while True:
            kind, payload = self.receive()
            if kind != ARCHIVE:
                return
            reader = ArchiveReader(self)
            yield payload.decode(), reader
            while reader.read(CHUNK):
                pass


class ArchiveReader:
    """The bytes of one archive, as `tarfile` wants to read them."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.buffer = b""
        self.ended = False

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, less only at the end."""
        while len(self.buffer) < size and not self.ended:
            kind, payload = self.channel.receive()
            if kind == ARCHIVE_END:
                self.ended = True
            else:
                self.buffer += payload
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

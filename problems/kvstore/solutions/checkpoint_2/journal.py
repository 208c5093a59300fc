"""A file with one JSON record a line, each of which is one change."""

import json
import os


class Journal:
    def __init__(self, path):
        self.path = path
        self._file = None

    def load(self):
        """The records of the file. A last line that was cut off by a kill was never acknowledged: it is dropped."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    return
                yield json.loads(line)

    def rewrite(self, records):
        """Puts these records in the place of the file's content and makes ready to append."""
        self.close()
        fresh = self.path.with_suffix(".new")
        with fresh.open("wb") as file:
            for record in records:
                file.write(_line(record))
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self.path)
        self._file = self.path.open("ab", buffering=0)

    def append(self, record):
        # One write to the kernel: the record outlives the process from here on.
        data = _line(record)
        written = self._file.write(data)
        while written < len(data):
            data = data[written:]
            written = self._file.write(data)

    def close(self):
        if self._file is not None:
            self._file.close()
            self._file = None


def _line(record):
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"

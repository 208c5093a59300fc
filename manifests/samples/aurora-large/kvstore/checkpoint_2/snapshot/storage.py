"""SQLite-backed storage with per-key revisions."""
from __future__ import annotations

import json
import os
import sqlite3
import threading
from typing import Any


class Conflict(Exception):
    """The expected revision is not the current one."""

    def __init__(self, current: int):
        super().__init__(f"current revision is {current}")
        self.current = current


class Missing(Exception):
    """The key does not exist."""


class BatchError(Exception):
    def __init__(self, index: int):
        super().__init__(f"operation {index} failed")
        self.index = index


class Storage:
    def __init__(self, data_dir: str):
        self._lock = threading.RLock()
        self._db = sqlite3.connect(
            os.path.join(data_dir, "kv.sqlite3"), check_same_thread=False, isolation_level=None
        )
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value TEXT NOT NULL, revision INTEGER NOT NULL)"
        )

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def keys(self, prefix: str) -> list[str]:
        with self._lock:
            rows = self._db.execute("SELECT key FROM entries").fetchall()
        return sorted(key for (key,) in rows if key.startswith(prefix))

    def _row(self, key: str) -> tuple[Any, int] | None:
        row = self._db.execute("SELECT value, revision FROM entries WHERE key = ?", (key,)).fetchone()
        return None if row is None else (json.loads(row[0]), row[1])

    def _revision(self, key: str) -> int:
        row = self._row(key)
        return 0 if row is None else row[1]

    def _write(self, key: str, value: Any, revision: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", (key, json.dumps(value), revision))

    def get(self, key: str) -> tuple[Any, int]:
        with self._lock:
            row = self._row(key)
        if row is None:
            raise Missing(key)
        return row

    def put(self, key: str, value: Any, expected: int | None = None) -> int:
        with self._lock:
            current = self._revision(key)
            if expected is not None and expected != current:
                raise Conflict(current)
            self._write(key, value, current + 1)
            return current + 1

    def delete(self, key: str, expected: int | None = None) -> None:
        with self._lock:
            current = self._revision(key)
            if expected is not None and expected != current:
                raise Conflict(current)
            if current == 0:
                raise Missing(key)
            self._db.execute("DELETE FROM entries WHERE key = ?", (key,))

    def update(self, key: str, function: Any) -> tuple[Any, int]:
        """Replace the value of an existing key by function(value)."""
        with self._lock:
            value, revision = self.get(key)
            value = function(value)
            self._write(key, value, revision + 1)
            return value, revision + 1

    def batch(self, ops: list[dict[str, Any]]) -> list[int]:
        revisions = []
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for index, op in enumerate(ops):
                    if op["op"] == "put":
                        revisions.append(self.put(op["key"], op["value"]))
                    else:
                        try:
                            self.delete(op["key"])
                        except Missing:
                            raise BatchError(index) from None
                        revisions.append(0)
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        return revisions

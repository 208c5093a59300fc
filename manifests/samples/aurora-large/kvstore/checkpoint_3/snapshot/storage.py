"""SQLite-backed storage of collections and documents."""
from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS collections (name TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS documents (
    collection TEXT NOT NULL,
    seq INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    doc TEXT NOT NULL,
    PRIMARY KEY (collection, seq)
);
"""


class Conflict(Exception):
    """The expected revision is not the current one."""

    def __init__(self, current: int):
        super().__init__(f"current revision is {current}")
        self.current = current


class Missing(Exception):
    """The collection or the document does not exist."""


def _show(seq: int, revision: int, doc: dict[str, Any]) -> dict[str, Any]:
    return {"id": f"d{seq}", "revision": revision, "doc": doc}


class Storage:
    def __init__(self, data_dir: str):
        self._lock = threading.RLock()
        self._db = sqlite3.connect(
            os.path.join(data_dir, "documents.sqlite3"), check_same_thread=False, isolation_level=None
        )
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(SCHEMA)
        # The highest sequence number in use, per collection.
        self._last_seq: dict[str, int] = {}
        for name, last in self._db.execute(
            "SELECT c.name, COALESCE(MAX(d.seq), 0) FROM collections c"
            " LEFT JOIN documents d ON d.collection = c.name GROUP BY c.name"
        ):
            self._last_seq[name] = last

    def close(self) -> None:
        with self._lock:
            self._db.close()

    # collections

    def _require(self, name: str) -> None:
        if name not in self._last_seq:
            raise Missing(f"collection {name!r} not found")

    def collection(self, name: str) -> dict[str, Any]:
        with self._lock:
            self._require(name)
            (count,) = self._db.execute("SELECT COUNT(*) FROM documents WHERE collection = ?", (name,)).fetchone()
        return {"name": name, "count": count}

    def collections(self) -> list[dict[str, Any]]:
        with self._lock:
            return [self.collection(name) for name in sorted(self._last_seq)]

    def create_collection(self, name: str) -> bool:
        with self._lock:
            if name in self._last_seq:
                return False
            self._db.execute("INSERT INTO collections VALUES (?)", (name,))
            self._last_seq[name] = 0
            return True

    def delete_collection(self, name: str) -> None:
        with self._lock:
            self._require(name)
            self._db.execute("BEGIN")
            self._db.execute("DELETE FROM documents WHERE collection = ?", (name,))
            self._db.execute("DELETE FROM collections WHERE name = ?", (name,))
            self._db.execute("COMMIT")
            del self._last_seq[name]

    # documents

    def documents(self, name: str) -> list[dict[str, Any]]:
        with self._lock:
            self._require(name)
            rows = self._db.execute(
                "SELECT seq, revision, doc FROM documents WHERE collection = ? ORDER BY seq", (name,)
            ).fetchall()
        return [_show(seq, revision, json.loads(doc)) for seq, revision, doc in rows]

    def _find(self, name: str, doc_id: str) -> tuple[int, int, str]:
        self._require(name)
        match = re.fullmatch(r"d([1-9][0-9]{0,17})", doc_id)
        row = None
        if match:
            row = self._db.execute(
                "SELECT seq, revision, doc FROM documents WHERE collection = ? AND seq = ?",
                (name, int(match.group(1))),
            ).fetchone()
        if row is None:
            raise Missing(f"document {doc_id!r} not found in {name!r}")
        return row

    def get(self, name: str, doc_id: str) -> dict[str, Any]:
        with self._lock:
            seq, revision, doc = self._find(name, doc_id)
        return _show(seq, revision, json.loads(doc))

    def add(self, name: str, doc: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            self._require(name)
            seq = self._last_seq[name] + 1
            self._db.execute("INSERT INTO documents VALUES (?, ?, 1, ?)", (name, seq, json.dumps(doc)))
            self._last_seq[name] = seq
        return _show(seq, 1, doc)

    def replace(self, name: str, doc_id: str, doc: dict[str, Any], expected: int | None) -> dict[str, Any]:
        with self._lock:
            seq, revision, _ = self._find(name, doc_id)
            if expected is not None and expected != revision:
                raise Conflict(revision)
            self._db.execute(
                "UPDATE documents SET revision = ?, doc = ? WHERE collection = ? AND seq = ?",
                (revision + 1, json.dumps(doc), name, seq),
            )
        return _show(seq, revision + 1, doc)

    def delete(self, name: str, doc_id: str, expected: int | None) -> None:
        with self._lock:
            seq, revision, _ = self._find(name, doc_id)
            if expected is not None and expected != revision:
                raise Conflict(revision)
            self._db.execute("DELETE FROM documents WHERE collection = ? AND seq = ?", (name, seq))

"""How long evaluations took before, to start long ones first and to estimate the end."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Self


class Durations:
    """Seconds by evaluation id, kept in a file that several engines may use at once."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, timeout=30, check_same_thread=False, isolation_level=None)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = off")
        self._database.execute("create table if not exists durations (id text primary key, seconds real)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def get(self, evaluation_id: str) -> float | None:
        """Tell how long an evaluation took the last time it ran."""
        query = "select seconds from durations where id = ?"
        try:
            row = self._database.execute(query, (evaluation_id,)).fetchone()
        except sqlite3.Error:
            return None
        return None if row is None else float(row[0])

    def put(self, evaluation_id: str, seconds: float) -> None:
        """Remember how long an evaluation took; a full disk costs only that."""
        with contextlib.suppress(sqlite3.Error):
            self._database.execute("replace into durations values (?, ?)", (evaluation_id, seconds))

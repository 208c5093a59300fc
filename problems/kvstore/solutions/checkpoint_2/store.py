"""The values and their revisions: in memory, with every change in a journal first."""

import re
import threading

_KEY = re.compile(r"[A-Za-z0-9._-]{1,64}")


def is_key(text):
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


class RevisionMismatch(Exception):
    def __init__(self, current, wanted):
        super().__init__(f"revision is {current}, not {wanted}")
        self.current = current


class NotAnObject(Exception):
    pass


class BatchFailed(Exception):
    def __init__(self, index, key):
        super().__init__(f"entry {index}: no key {key!r}")
        self.index = index


def merge(target, patch):
    """The target with the patch merged in; neither argument is changed."""
    result = dict(target)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            old = result.get(name)
            result[name] = merge(old if isinstance(old, dict) else {}, value)
        else:
            result[name] = value
    return result


class Store:
    """Each record of the journal is a list of changes: [key, revision, value], or [key] for a deletion."""

    def __init__(self, journal):
        self._lock = threading.Lock()
        self._entries = {}  # key: (revision, value)
        self._journal = journal
        for record in journal.load():
            self._apply(record)
        journal.rewrite([[key, *entry]] for key, entry in self._entries.items())

    def close(self):
        with self._lock:
            self._journal.close()

    def get(self, key):
        """Revision and value; KeyError if there is no such key."""
        with self._lock:
            return self._entries[key]

    def keys(self, prefix=""):
        with self._lock:
            return sorted(key for key in self._entries if key.startswith(prefix))

    def put(self, key, value, expected=None):
        """The new revision."""
        with self._lock:
            revision = self._check(key, expected) + 1
            self._commit([[key, revision, value]])
            return revision

    def patch(self, key, patch, expected=None):
        """The new revision and the merged value."""
        with self._lock:
            self._check(key, expected)
            revision, value = self._entries[key]
            if not isinstance(value, dict):
                raise NotAnObject(f"the value of {key!r} is not an object")
            value = merge(value, patch)
            self._commit([[key, revision + 1, value]])
            return revision + 1, value

    def delete(self, key, expected=None):
        with self._lock:
            self._check(key, expected)
            if key not in self._entries:
                raise KeyError(key)
            self._commit([[key]])

    def batch(self, ops):
        """All of ops, or none. The new revision of each, 0 for deletions."""
        with self._lock:
            changes, revisions = [], {}
            for index, op in enumerate(ops):
                key = op["key"]
                current = revisions.get(key, self._revision(key))
                if op["op"] == "put":
                    revisions[key] = current + 1
                    changes.append([key, current + 1, op["value"]])
                elif current == 0:
                    raise BatchFailed(index, key)
                else:
                    revisions[key] = 0
                    changes.append([key])
            self._commit(changes)
            return [change[1] if len(change) > 1 else 0 for change in changes]

    def _revision(self, key):
        return self._entries[key][0] if key in self._entries else 0

    def _check(self, key, expected):
        current = self._revision(key)
        if expected is not None and expected != current:
            raise RevisionMismatch(current, expected)
        return current

    def _commit(self, changes):
        self._journal.append(changes)
        self._apply(changes)

    def _apply(self, changes):
        for key, *entry in changes:
            if entry:
                self._entries[key] = tuple(entry)
            else:
                del self._entries[key]

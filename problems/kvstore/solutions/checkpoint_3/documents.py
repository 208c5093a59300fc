"""Collections of documents: in memory, with every change in a journal first."""

import re
import threading
from dataclasses import dataclass, field

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


def is_name(text):
    return _NAME.fullmatch(text) is not None


class NotFound(Exception):
    pass


class RevisionMismatch(Exception):
    def __init__(self, current, wanted):
        super().__init__(f"revision is {current}, not {wanted}")
        self.current = current


@dataclass
class Collection:
    last: int = 0  # the number of the newest id that was ever given
    docs: dict = field(default_factory=dict)  # id: (revision, content), in the order of creation


class Documents:
    """Records of the journal:

    ["create", NAME, LAST]    ["drop", NAME]    ["set", NAME, ID, REVISION, CONTENT]    ["remove", NAME, ID]
    """

    def __init__(self, journal):
        self._lock = threading.Lock()
        self._collections = {}
        self._journal = journal
        for record in journal.load():
            self._apply(*record)
        journal.rewrite(self._snapshot())

    def close(self):
        with self._lock:
            self._journal.close()

    # -- collections

    def counts(self):
        """Pairs of name and number of documents, by name."""
        with self._lock:
            return [(name, len(found.docs)) for name, found in sorted(self._collections.items())]

    def count(self, name):
        with self._lock:
            return len(self._collection(name).docs)

    def create(self, name):
        """Whether the collection is new, and the number of its documents."""
        with self._lock:
            if name in self._collections:
                return False, len(self._collections[name].docs)
            self._commit("create", name, 0)
            return True, 0

    def drop(self, name):
        with self._lock:
            self._collection(name)
            self._commit("drop", name)

    # -- documents

    def all(self, name):
        """Triples of id, revision and content, in the order of creation."""
        with self._lock:
            return [(id, *entry) for id, entry in self._collection(name).docs.items()]

    def add(self, name, content):
        """The new id."""
        with self._lock:
            id = f"d{self._collection(name).last + 1}"
            self._commit("set", name, id, 1, content)
            return id

    def get(self, name, id):
        """Revision and content."""
        with self._lock:
            return self._document(name, id)

    def replace(self, name, id, content, expected=None):
        """The new revision."""
        with self._lock:
            revision = self._check(name, id, expected) + 1
            self._commit("set", name, id, revision, content)
            return revision

    def remove(self, name, id, expected=None):
        with self._lock:
            self._check(name, id, expected)
            self._commit("remove", name, id)

    # -- inside

    def _collection(self, name):
        if name not in self._collections:
            raise NotFound(f"no collection {name!r}")
        return self._collections[name]

    def _document(self, name, id):
        docs = self._collection(name).docs
        if id not in docs:
            raise NotFound(f"no document {id!r} in {name!r}")
        return docs[id]

    def _check(self, name, id, expected):
        current, _ = self._document(name, id)
        if expected is not None and expected != current:
            raise RevisionMismatch(current, expected)
        return current

    def _commit(self, *record):
        self._journal.append(record)
        self._apply(*record)

    def _apply(self, kind, name, *rest):
        match kind, rest:
            case "create", (last,):
                self._collections[name] = Collection(last)
            case "drop", ():
                del self._collections[name]
            case "set", (id, revision, content):
                found = self._collections[name]
                found.docs[id] = (revision, content)
                found.last = max(found.last, int(id[1:]))
            case "remove", (id,):
                del self._collections[name].docs[id]
            case _:
                raise ValueError(f"unknown record {kind!r}")

    def _snapshot(self):
        for name, found in self._collections.items():
            yield ["create", name, found.last]
            for id, entry in found.docs.items():
                yield ["set", name, id, *entry]

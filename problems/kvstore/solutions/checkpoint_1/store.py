"""The values, in memory."""

import re
import threading

_KEY = re.compile(r"[A-Za-z0-9._-]{1,64}")


def is_key(text):
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


class Store:
    def __init__(self):
        self._values = {}
        self._lock = threading.Lock()

    def put(self, key, value):
        """Stores the value; True if the key is new."""
        with self._lock:
            created = key not in self._values
            self._values[key] = value
            return created

    def get(self, key):
        """The value; KeyError if there is none."""
        with self._lock:
            return self._values[key]

    def delete(self, key):
        with self._lock:
            del self._values[key]

    def keys(self, prefix=""):
        with self._lock:
            return sorted(key for key in self._values if key.startswith(prefix))

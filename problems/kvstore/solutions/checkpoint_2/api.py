"""Paths and methods of the key-value API."""

import re

from store import BatchFailed, NotAnObject, RevisionMismatch, is_key
from web import HttpError, Response

MAX_OPS = 100


class Api:
    def __init__(self, store):
        self.store = store

    def handle(self, request):
        match request.segments:
            case ["health"]:
                methods, args = {"GET": self.health}, ()
            case ["kv"]:
                methods, args = {"GET": self.list_keys}, ()
            case ["kv", key]:
                methods = {"GET": self.get, "PUT": self.put, "PATCH": self.patch, "DELETE": self.delete}
                args = (key,)
            case ["batch"]:
                methods, args = {"POST": self.batch}, ()
            case _:
                raise HttpError(404, "unknown_path", "there is nothing at this path")
        if request.method not in methods:
            allow = {"Allow": ", ".join(sorted(methods))}
            raise HttpError(405, "method_not_allowed", f"{request.method} is not allowed here", allow)
        if args and not is_key(args[0]):
            raise HttpError(400, "invalid_key", f"{args[0]!r} is not a valid key")
        try:
            return methods[request.method](request, *args)
        except KeyError as error:
            raise HttpError(404, "not_found", f"no key {error.args[0]!r}") from None
        except RevisionMismatch as error:
            raise HttpError(412, "revision_mismatch", str(error), revision=error.current) from None
        except NotAnObject as error:
            raise HttpError(409, "not_an_object", str(error)) from None
        except BatchFailed as error:
            raise HttpError(409, "batch_failed", str(error), index=error.index) from None

    def health(self, request):
        return Response(200, {"status": "ok"})

    def list_keys(self, request):
        keys = self.store.keys(dict(request.query).get("prefix", ""))
        return Response(200, {"keys": keys, "count": len(keys)})

    def get(self, request, key):
        revision, value = self.store.get(key)
        return Response(200, {"key": key, "value": value, "revision": revision})

    def put(self, request, key):
        expected = if_match(request)
        value = request.json()
        revision = self.store.put(key, value, expected)
        return Response(201 if revision == 1 else 200, {"key": key, "value": value, "revision": revision})

    def patch(self, request, key):
        expected = if_match(request)
        patch = request.json()
        if not isinstance(patch, dict):
            raise HttpError(400, "invalid_patch", "the patch is not an object")
        revision, value = self.store.patch(key, patch, expected)
        return Response(200, {"key": key, "value": value, "revision": revision})

    def delete(self, request, key):
        self.store.delete(key, if_match(request))
        return Response(204)

    def batch(self, request):
        ops = request.json()
        ops = ops.get("ops") if isinstance(ops, dict) else None
        if not isinstance(ops, list) or not 1 <= len(ops) <= MAX_OPS:
            raise HttpError(400, "invalid_batch", f"'ops' has to be a list of 1 to {MAX_OPS} entries")
        for index, op in enumerate(ops):
            if problem := problem_of(op):
                raise HttpError(400, "invalid_batch", f"entry {index}: {problem}")
        return Response(200, {"revisions": self.store.batch(ops)})


def if_match(request):
    """The revision in the header If-Match, or None."""
    text = request.headers.get("If-Match")
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise HttpError(400, "invalid_revision", f"If-Match is not a revision: {text!r}")
    return int(text)


def problem_of(op):
    """What is wrong with an entry of a batch, or None."""
    if not isinstance(op, dict):
        return "not an object"
    if op.get("op") not in ("put", "delete"):
        return "'op' is neither 'put' nor 'delete'"
    if not is_key(op.get("key")):
        return "no valid 'key'"
    if op["op"] == "put" and "value" not in op:
        return "no 'value'"
    return None

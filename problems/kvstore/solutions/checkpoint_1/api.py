"""Paths and methods of the key-value API."""

from store import is_key
from web import HttpError, Response


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
                methods, args = {"GET": self.get, "PUT": self.put, "DELETE": self.delete}, (key,)
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

    def health(self, request):
        return Response(200, {"status": "ok"})

    def list_keys(self, request):
        keys = self.store.keys(dict(request.query).get("prefix", ""))
        return Response(200, {"keys": keys, "count": len(keys)})

    def get(self, request, key):
        return Response(200, {"key": key, "value": self.store.get(key)})

    def put(self, request, key):
        value = request.json()
        created = self.store.put(key, value)
        return Response(201 if created else 200, {"key": key, "value": value})

    def delete(self, request, key):
        self.store.delete(key)
        return Response(204)

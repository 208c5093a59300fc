"""Paths and methods of version 2 of the API."""

import re

from documents import NotFound, RevisionMismatch, is_name
from query import InvalidQuery, Query
from web import HttpError, Response


class Api:
    def __init__(self, documents):
        self.documents = documents

    def handle(self, request):
        match request.segments:
            case ["kv", *_] | ["batch"]:
                raise HttpError(410, "gone", "this API was withdrawn: use /v2")
            case ["health"]:
                methods, args = {"GET": self.health}, ()
            case ["v2", "collections"]:
                methods, args = {"GET": self.list_collections}, ()
            case ["v2", "collections", name]:
                methods = {"GET": self.get_collection, "PUT": self.create, "DELETE": self.drop}
                args = (name,)
            case ["v2", "collections", name, "docs"]:
                methods, args = {"GET": self.query, "POST": self.add}, (name,)
            case ["v2", "collections", name, "docs", id]:
                methods = {"GET": self.get, "PUT": self.replace, "DELETE": self.remove}
                args = (name, id)
            case _:
                raise HttpError(404, "unknown_path", "there is nothing at this path")
        if request.method not in methods:
            allow = {"Allow": ", ".join(sorted(methods))}
            raise HttpError(405, "method_not_allowed", f"{request.method} is not allowed here", allow)
        if args and not is_name(args[0]):
            raise HttpError(400, "invalid_name", f"{args[0]!r} is not a valid name of a collection")
        try:
            return methods[request.method](request, *args)
        except NotFound as error:
            raise HttpError(404, "not_found", str(error)) from None
        except InvalidQuery as error:
            raise HttpError(400, "invalid_query", str(error)) from None
        except RevisionMismatch as error:
            raise HttpError(412, "revision_mismatch", str(error), revision=error.current) from None

    def health(self, request):
        return Response(200, {"status": "ok", "api": 2})

    # -- collections

    def list_collections(self, request):
        shown = [{"name": name, "count": count} for name, count in self.documents.counts()]
        return Response(200, {"collections": shown})

    def get_collection(self, request, name):
        return Response(200, {"name": name, "count": self.documents.count(name)})

    def create(self, request, name):
        created, count = self.documents.create(name)
        return Response(201 if created else 200, {"name": name, "count": count})

    def drop(self, request, name):
        self.documents.drop(name)
        return Response(204)

    # -- documents

    def query(self, request, name):
        query = Query.parse(request.query)
        total, found = query.run(self.documents.all(name))
        return Response(200, {"total": total, "docs": [show(*entry) for entry in found]})

    def add(self, request, name):
        content = document_in(request)
        id = self.documents.add(name, content)
        return Response(201, show(id, 1, content), {"Location": f"/v2/collections/{name}/docs/{id}"})

    def get(self, request, name, id):
        return Response(200, show(id, *self.documents.get(name, id)))

    def replace(self, request, name, id):
        expected = if_match(request)
        content = document_in(request)
        revision = self.documents.replace(name, id, content, expected)
        return Response(200, show(id, revision, content))

    def remove(self, request, name, id):
        self.documents.remove(name, id, if_match(request))
        return Response(204)


def show(id, revision, content):
    return {"id": id, "revision": revision, "doc": content}


def document_in(request):
    content = request.json()
    if not isinstance(content, dict):
        raise HttpError(400, "invalid_document", "a document is an object")
    return content


def if_match(request):
    """The revision in the header If-Match, or None."""
    text = request.headers.get("If-Match")
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise HttpError(400, "invalid_revision", f"If-Match is not a revision: {text!r}")
    return int(text)

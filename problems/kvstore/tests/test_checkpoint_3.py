"""Checkpoint 3: version 2 of the API, collections of documents."""

from concurrent.futures import ThreadPoolExecutor

import pytest

BASE = "/v2/collections"


def collection(server, name, docs=()):
    """A new collection with these documents; returns its path."""
    path = f"{BASE}/{name}"
    server.put(path).expect(201)
    for doc in docs:
        server.post(f"{path}/docs", doc).expect(201)
    return path


def ids(server, path, *query):
    """The ids that a query gives, as numbers, for example [2, 1] for d2, d1."""
    body = server.get(f"{path}/docs", list(query)).expect(200)
    for entry in body["docs"]:
        assert entry["id"].startswith("d")
    return [int(entry["id"][1:]) for entry in body["docs"]]


def if_match(number):
    return {"If-Match": str(number)}


def test_health_tells_the_version(shared):
    body = shared.get("/health").expect(200)
    assert (body["status"], body["api"]) == ("ok", 2)


# ---------------------------------------------------------------- the old API


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/kv"),
        ("GET", "/kv?prefix=a"),
        ("GET", "/kv/a"),
        ("PUT", "/kv/a"),
        ("DELETE", "/kv/a"),
        ("POST", "/batch"),
    ],
)
def test_old_api_is_gone(shared, method, path):
    shared.request(method, path, data=b"1" if method in ("PUT", "POST") else None).error(410, "gone")


@pytest.mark.functionality
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/batch"), ("POST", "/kv"), ("GET", "/kv/a/b"), ("GET", "/kv/")]
)
def test_old_api_is_gone_before_anything_else_is_checked(shared, method, path):
    shared.request(method, path, data=b"{" if method == "POST" else None).error(410, "gone")


# ---------------------------------------------------------------- collections


def test_create_a_collection(shared):
    body = shared.put(f"{BASE}/col-new").expect(201)
    assert (body["name"], body["count"]) == ("col-new", 0)
    body = shared.get(f"{BASE}/col-new").expect(200)
    assert (body["name"], body["count"]) == ("col-new", 0)


def test_create_again_changes_nothing(shared):
    path = collection(shared, "col-twice", [{"a": 1}])
    body = shared.put(path).expect(200)
    assert (body["name"], body["count"]) == ("col-twice", 1)


def test_list_of_collections(server):
    assert server.get(BASE).expect(200)["collections"] == []
    for name in ["pears", "Apples", "figs"]:
        collection(server, name)
    server.post(f"{BASE}/figs/docs", {}).expect(201)
    listed = server.get(BASE).expect(200)["collections"]
    assert [(c["name"], c["count"]) for c in listed] == [("Apples", 0), ("figs", 1), ("pears", 0)]


def test_delete_a_collection(shared):
    path = collection(shared, "col-del", [{"a": 1}])
    shared.delete(path).expect(204)
    shared.get(path).error(404, "not_found")
    shared.get(f"{path}/docs").error(404, "not_found")
    shared.get(f"{path}/docs/d1").error(404, "not_found")


def test_collection_created_again_is_new(shared):
    path = collection(shared, "col-reborn", [{"a": 1}, {"a": 2}])
    shared.delete(path).expect(204)
    assert shared.put(path).expect(201)["count"] == 0
    assert shared.post(f"{path}/docs", {"a": 3}).expect(201)["id"] == "d1"


@pytest.mark.functionality
def test_body_of_create_is_ignored(shared):
    shared.put(f"{BASE}/col-body", data=b"not json").expect(201)


@pytest.mark.functionality
def test_name_is_percent_decoded(shared):
    shared.put(f"{BASE}/dec%2Eoded").expect(201)
    assert shared.get(f"{BASE}/dec.oded").expect(200)["name"] == "dec.oded"


# ---------------------------------------------------------------- documents


def test_add_and_get_documents(shared):
    path = collection(shared, "doc-add")
    for number, doc in enumerate([{"name": "Ann"}, {}, {"deep": {"list": [1, None, "ü"]}}], 1):
        body = shared.post(f"{path}/docs", doc).expect(201)
        assert (body["id"], body["revision"], body["doc"]) == (f"d{number}", 1, doc)
        body = shared.get(f"{path}/docs/d{number}").expect(200)
        assert (body["id"], body["revision"], body["doc"]) == (f"d{number}", 1, doc)
    assert shared.get(path).expect(200)["count"] == 3


def test_collections_count_their_ids_separately(shared):
    one, two = collection(shared, "sep-1", [{}, {}]), collection(shared, "sep-2", [{}])
    assert shared.post(f"{one}/docs", {}).expect(201)["id"] == "d3"
    assert shared.post(f"{two}/docs", {}).expect(201)["id"] == "d2"


@pytest.mark.functionality
def test_location_of_a_new_document(shared):
    path = collection(shared, "doc-loc", [{}])
    assert shared.post(f"{path}/docs", {"a": 1}).headers["Location"] == f"{path}/docs/d2"


def test_replace_a_document(shared):
    path = collection(shared, "doc-put", [{"a": 1, "b": 2}])
    body = shared.put(f"{path}/docs/d1", {"c": 3}).expect(200)
    assert (body["id"], body["revision"], body["doc"]) == ("d1", 2, {"c": 3})
    body = shared.get(f"{path}/docs/d1").expect(200)
    assert (body["revision"], body["doc"]) == (2, {"c": 3})


def test_delete_a_document(shared):
    path = collection(shared, "doc-del", [{"a": 1}, {"a": 2}])
    shared.delete(f"{path}/docs/d1").expect(204)
    shared.get(f"{path}/docs/d1").error(404, "not_found")
    assert shared.get(path).expect(200)["count"] == 1
    assert ids(shared, path) == [2]


def test_id_is_not_used_again(shared):
    path = collection(shared, "doc-ids", [{}, {}])
    shared.delete(f"{path}/docs/d2").expect(204)
    assert shared.post(f"{path}/docs", {}).expect(201)["id"] == "d3"


def test_conditional_replace(shared):
    path = collection(shared, "doc-cond", [{"a": 1}])
    assert shared.put(f"{path}/docs/d1", {"a": 2}, headers=if_match(1)).expect(200)["revision"] == 2
    error = shared.put(f"{path}/docs/d1", {"a": 3}, headers=if_match(1)).error(412, "revision_mismatch")
    assert error["revision"] == 2
    assert shared.get(f"{path}/docs/d1").expect(200)["doc"] == {"a": 2}


@pytest.mark.functionality
def test_conditional_delete(shared):
    path = collection(shared, "doc-cond-del", [{"a": 1}])
    error = shared.delete(f"{path}/docs/d1", headers=if_match(2)).error(412, "revision_mismatch")
    assert error["revision"] == 1
    shared.delete(f"{path}/docs/d1", headers=if_match(1)).expect(204)


@pytest.mark.concurrency
def test_ids_are_unique_among_clients(server):
    path = collection(server, "crowd")

    def add(number):
        return server.post(f"{path}/docs", {"n": number}).expect(201)["id"]

    with ThreadPoolExecutor(4) as pool:
        given = list(pool.map(add, range(20)))
    assert sorted(given) == sorted(f"d{n}" for n in range(1, 21))
    assert server.get(path).expect(200)["count"] == 20


# ---------------------------------------------------------------- queries

PEOPLE = [
    {"name": "Ann", "age": 41, "active": True},
    {"name": "bob", "age": 35, "active": False},
    {"name": "Cyd", "age": 35.0, "active": 1},
    {"name": "Dan", "age": "35", "team": None},
    {"name": "Eve", "team": "red"},
    {"name": "Bob", "age": -2.5, "team": "blue"},
]


@pytest.fixture
def people(shared):
    path = f"{BASE}/people"
    if shared.put(path).status == 201:
        for doc in PEOPLE:
            shared.post(f"{path}/docs", doc).expect(201)
    return path


def test_query_without_parameters(shared, people):
    body = shared.get(f"{people}/docs").expect(200)
    assert body["total"] == 6
    assert [entry["doc"] for entry in body["docs"]] == PEOPLE
    assert [(entry["id"], entry["revision"]) for entry in body["docs"]] == [(f"d{n}", 1) for n in range(1, 7)]


def test_query_of_an_empty_collection(shared):
    body = shared.get(collection(shared, "q-empty") + "/docs").expect(200)
    assert (body["total"], body["docs"]) == (0, [])


@pytest.mark.parametrize(
    ("where", "expected"),
    [('name:"Ann"', [1]), ("age:35", [2, 3]), ('age:"35"', [4]), ('name:"ann"', []), ("nothing:1", [])],
    ids=["string", "number", "digits", "case", "no-such-field"],
)
def test_where(shared, people, where, expected):
    assert ids(shared, people, ("where", where)) == expected


@pytest.mark.functionality
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("active:true", [1]),
        ("active:1", [3]),
        ("active:false", [2]),
        ("team:null", [4]),
        ("age:3.5e1", [2, 3]),
    ],
    ids=["true", "one", "false", "null", "exponent"],
)
def test_where_compares_by_kind(shared, people, where, expected):
    assert ids(shared, people, ("where", where)) == expected


@pytest.mark.functionality
def test_where_is_split_at_the_first_colon(shared):
    path = collection(shared, "q-colon", [{"at": "12:30"}, {"at": "12"}])
    assert ids(shared, path, ("where", 'at:"12:30"')) == [1]


def test_several_conditions(shared, people):
    assert ids(shared, people, ("where", "age:35"), ("where", "active:false")) == [2]
    assert ids(shared, people, ("where", "age:35"), ("where", 'name:"Ann"')) == []


@pytest.mark.parametrize(
    ("sort", "expected"),
    [("name", [1, 6, 3, 4, 5, 2]), ("-name", [2, 5, 4, 3, 6, 1]), ("age", [6, 2, 3, 1, 4, 5])],
)
def test_sort(shared, people, sort, expected):
    assert ids(shared, people, ("sort", sort)) == expected


@pytest.mark.functionality
@pytest.mark.parametrize(
    ("sort", "expected"),
    [("-age", [1, 2, 3, 6, 4, 5]), ("active", [3, 1, 2, 4, 5, 6]), ("-team", [5, 6, 1, 2, 3, 4])],
)
def test_sort_of_mixed_kinds(shared, people, sort, expected):
    assert ids(shared, people, ("sort", sort)) == expected


def test_limit_and_offset(shared, people):
    body = shared.get(f"{people}/docs", {"limit": "2", "offset": "3"}).expect(200)
    assert body["total"] == 6
    assert [entry["id"] for entry in body["docs"]] == ["d4", "d5"]
    assert ids(shared, people, ("offset", "5")) == [6]
    assert ids(shared, people, ("offset", "6")) == []


def test_everything_together(shared, people):
    query = [("where", "age:35"), ("sort", "-name"), ("limit", "1"), ("offset", "1")]
    body = shared.get(f"{people}/docs", query).expect(200)
    assert body["total"] == 2
    assert [entry["doc"]["name"] for entry in body["docs"]] == ["Cyd"]


@pytest.mark.functionality
def test_order_of_creation_and_default_limit(shared):
    path = collection(shared, "q-many", [{"n": n} for n in range(1, 103)])
    assert ids(shared, path) == list(range(1, 101))
    assert ids(shared, path, ("limit", "1000")) == list(range(1, 103))


@pytest.mark.functionality
def test_replaced_document_keeps_its_place(shared):
    path = collection(shared, "q-place", [{"n": 1}, {"n": 2}])
    shared.put(f"{path}/docs/d1", {"n": 3}).expect(200)
    assert ids(shared, path) == [1, 2]
    assert ids(shared, path, ("where", "n:3")) == [1]


# ---------------------------------------------------------------- durability


@pytest.mark.durability
@pytest.mark.parametrize("kill", [False, True], ids=["sigterm", "sigkill"])
def test_everything_survives_a_restart(server, kill):
    path = collection(server, "kept", [{"n": 1}, {"n": 2}, {"n": "drei ü"}])
    collection(server, "empty")
    server.delete(collection(server, "deleted", [{}])).expect(204)
    server.put(f"{path}/docs/d1", {"n": 10}).expect(200)
    server.delete(f"{path}/docs/d2").expect(204)
    server.restart(kill)
    listed = server.get(BASE).expect(200)["collections"]
    assert [(c["name"], c["count"]) for c in listed] == [("empty", 0), ("kept", 2)]
    shown = server.get(f"{path}/docs").expect(200)["docs"]
    shown = [(d["id"], d["revision"], d["doc"]) for d in shown]
    assert shown == [("d1", 2, {"n": 10}), ("d3", 1, {"n": "drei ü"})]


@pytest.mark.durability
def test_id_is_not_used_again_after_a_restart(server):
    path = collection(server, "ids", [{}, {}])
    server.delete(f"{path}/docs/d2").expect(204)
    server.restart()
    assert server.post(f"{path}/docs", {}).expect(201)["id"] == "d3"


# ---------------------------------------------------------------- errors


@pytest.mark.error
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_missing_collection(shared, method):
    shared.request(method, f"{BASE}/none").error(404, "not_found")


@pytest.mark.error
def test_documents_of_a_missing_collection(shared):
    shared.get(f"{BASE}/none/docs").error(404, "not_found")
    shared.post(f"{BASE}/none/docs", {}).error(404, "not_found")
    shared.put(f"{BASE}/none/docs/d1", {}).error(404, "not_found")


@pytest.mark.error
@pytest.mark.parametrize("doc_id", ["d2", "d0", "1", "d01", "D1", "x"])
def test_missing_document(shared, doc_id):
    shared.put(f"{BASE}/err-doc")
    if shared.get(f"{BASE}/err-doc").expect(200)["count"] == 0:
        shared.post(f"{BASE}/err-doc/docs", {"a": 1}).expect(201)
    shared.get(f"{BASE}/err-doc/docs/{doc_id}").error(404, "not_found")
    shared.put(f"{BASE}/err-doc/docs/{doc_id}", {}, headers=if_match(1)).error(404, "not_found")
    shared.delete(f"{BASE}/err-doc/docs/{doc_id}").error(404, "not_found")


@pytest.mark.error
@pytest.mark.parametrize(
    "name", ["a%20b", "a%2Fb", "line%0A", "n" * 65], ids=["space", "slash", "newline", "too-long"]
)
def test_invalid_name(shared, name):
    shared.put(f"{BASE}/{name}").error(400, "invalid_name")
    shared.get(f"{BASE}/{name}/docs").error(400, "invalid_name")


@pytest.mark.error
@pytest.mark.parametrize("doc", [[], "text", 7, None], ids=["array", "string", "number", "null"])
def test_invalid_document(shared, doc):
    shared.put(f"{BASE}/err-kind")
    shared.post(f"{BASE}/err-kind/docs", doc).error(400, "invalid_document")
    assert shared.get(f"{BASE}/err-kind").expect(200)["count"] == 0


@pytest.mark.error
@pytest.mark.parametrize("data", [b"", b"{", b'{"a": NaN}'], ids=["empty", "cut-off", "nan"])
def test_invalid_json(shared, data):
    shared.put(f"{BASE}/err-json")
    shared.post(f"{BASE}/err-json/docs", data=data).error(400, "invalid_json")
    assert shared.get(f"{BASE}/err-json").expect(200)["count"] == 0


@pytest.mark.error
def test_document_that_is_too_large(shared):
    path = collection(shared, "err-large")
    shared.post(f"{path}/docs", {"t": "v" * 16384}).error(413, "too_large")
    assert shared.get(path).expect(200)["count"] == 0


@pytest.mark.error
@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=1001",
        "limit=x",
        "limit=-1",
        "offset=-1",
        "offset=1.5",
        "where=name",
        "where=:1",
        "where=a:Ann",
        "where=a:%5B1%5D",
        "sort=",
        "sort=-",
        "page=2",
    ],
    ids=[
        "limit-zero",
        "limit-too-high",
        "limit-letters",
        "limit-minus",
        "offset-minus",
        "offset-fraction",
        "where-no-colon",
        "where-no-field",
        "where-no-json",
        "where-array",
        "sort-empty",
        "sort-minus-only",
        "unknown",
    ],
)
def test_invalid_query(shared, query):
    shared.put(f"{BASE}/err-query")
    shared.get(f"{BASE}/err-query/docs?{query}").error(400, "invalid_query")


@pytest.mark.error
@pytest.mark.parametrize("value", ["abc", "-1", '"1"'], ids=["letters", "minus", "quoted"])
def test_invalid_revision(shared, value):
    shared.put(f"{BASE}/err-rev")
    shared.put(f"{BASE}/err-rev/docs/d1", {}, headers={"If-Match": value}).error(400, "invalid_revision")


@pytest.mark.error
@pytest.mark.parametrize(
    "path", ["/", "/v2", "/v1/collections", BASE + "/a/b", BASE + "/a/docs/d1/x", "/kvs"]
)
def test_unknown_path(shared, path):
    shared.get(path).error(404, "unknown_path")


@pytest.mark.error
@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/health", "GET"),
        ("POST", BASE, "GET"),
        ("POST", BASE + "/a", "DELETE, GET, PUT"),
        ("DELETE", BASE + "/a/docs", "GET, POST"),
        ("POST", BASE + "/a/docs/d1", "DELETE, GET, PUT"),
    ],
    ids=["health", "collections", "collection", "docs", "doc"],
)
def test_method_not_allowed(shared, method, path, allow):
    answer = shared.request(method, path, data=b"{}" if method == "POST" else None)
    answer.error(405, "method_not_allowed")
    assert answer.headers["Allow"] == allow

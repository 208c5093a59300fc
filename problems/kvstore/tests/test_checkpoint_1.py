"""Checkpoint 1: a key-value store over HTTP."""

import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

VALUES = {
    "object": {"name": "Ann", "tags": ["x", "y"], "address": {"zip": "1010", "floor": None}},
    "empty-object": {},
    "array": [1, "two", [3.5, None], {"four": 4}],
    "string": "hello",
    "empty-string": "",
    "unicode": 'Grüße, 世界 \U0001f642 "quoted"\n',
    "integer": 42,
    "float": -0.125,
    "true": True,
    "false": False,
    "null": None,
}


def test_health(shared):
    assert shared.get("/health").expect(200)["status"] == "ok"


def test_put_answers_with_key_and_value(shared):
    body = shared.put("/kv/put-answer", {"a": 1}).expect(201)
    assert body["key"] == "put-answer"
    assert body["value"] == {"a": 1}


@pytest.mark.parametrize("kind", list(VALUES))
def test_value_comes_back_as_it_was_stored(shared, kind):
    value = VALUES[kind]
    shared.put(f"/kv/value-{kind}", value).expect(201)
    body = shared.get(f"/kv/value-{kind}").expect(200)
    assert body["key"] == f"value-{kind}"
    assert body["value"] == value
    assert type(body["value"]) is type(value)


def test_put_again_replaces(shared):
    shared.put("/kv/replace", {"a": 1, "b": 2}).expect(201)
    body = shared.put("/kv/replace", {"c": 3}).expect(200)
    assert body["value"] == {"c": 3}
    assert shared.get("/kv/replace").expect(200)["value"] == {"c": 3}


def test_delete_removes(shared):
    shared.put("/kv/delete-me", 1).expect(201)
    shared.put("/kv/delete-me-not", 2).expect(201)
    shared.delete("/kv/delete-me").expect(204)
    shared.get("/kv/delete-me").error(404, "not_found")
    assert shared.get("/kv/delete-me-not").expect(200)["value"] == 2


def test_put_after_delete_creates(shared):
    shared.put("/kv/again", 1).expect(201)
    shared.delete("/kv/again").expect(204)
    shared.put("/kv/again", 2).expect(201)
    assert shared.get("/kv/again").expect(200)["value"] == 2


def test_list_of_an_empty_store(server):
    body = server.get("/kv").expect(200)
    assert body["keys"] == []
    assert body["count"] == 0


def test_list_is_in_the_order_of_code_points(server):
    for key in ["b", "a.10", "B", "a", "_x", "a-1", "a.9", "9"]:
        server.put(f"/kv/{key}", 0).expect(201)
    server.put("/kv/gone", 0).expect(201)
    server.delete("/kv/gone").expect(204)
    body = server.get("/kv").expect(200)
    assert body["keys"] == ["9", "B", "_x", "a", "a-1", "a.10", "a.9", "b"]
    assert body["count"] == 8


def test_list_with_prefix(server):
    for key in ["user.1", "user.2", "user", "User.3", "my.user.4", "order.1"]:
        server.put(f"/kv/{key}", 0).expect(201)
    body = server.get("/kv", {"prefix": "user."}).expect(200)
    assert body["keys"] == ["user.1", "user.2"]
    assert body["count"] == 2
    assert server.get("/kv", {"prefix": "nobody"}).expect(200)["keys"] == []


@pytest.mark.functionality
def test_empty_prefix_means_all_keys(server):
    server.put("/kv/a", 0).expect(201)
    server.put("/kv/b", 0).expect(201)
    assert server.get("/kv?prefix=").expect(200)["keys"] == ["a", "b"]


@pytest.mark.functionality
def test_prefix_is_percent_decoded(server):
    server.put("/kv/a.b", 0).expect(201)
    server.put("/kv/a-b", 0).expect(201)
    assert server.get("/kv?prefix=%61%2E").expect(200)["keys"] == ["a.b"]


@pytest.mark.functionality
def test_key_is_percent_decoded(shared):
    shared.put("/kv/dec%2Eoded", 1).expect(201)
    assert shared.get("/kv/dec.oded").expect(200)["key"] == "dec.oded"


@pytest.mark.functionality
def test_keys_differ_by_case(shared):
    shared.put("/kv/Case", "upper").expect(201)
    shared.put("/kv/case", "lower").expect(201)
    assert shared.get("/kv/Case").expect(200)["value"] == "upper"


@pytest.mark.functionality
def test_longest_key_and_largest_body(shared):
    key = "k" * 64
    value = "v" * (16384 - 2)
    shared.put(f"/kv/{key}", value).expect(201)
    assert shared.get(f"/kv/{key}").expect(200)["value"] == value


@pytest.mark.functionality
def test_data_directory_is_created_with_its_parents(make_server):
    server = make_server("some/deep/folder")
    assert server.data.is_dir()


@pytest.mark.functionality
def test_ends_after_sigterm(server):
    assert server.stop(), "the server was still running 5 s after SIGTERM"


@pytest.mark.concurrency
def test_clients_at_the_same_time(server):
    def work(number):
        for step in range(5):
            server.put(f"/kv/client-{number}.{step}", [number, step]).expect(201)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, number) for number in range(4)]:
            done.result()
    assert server.get("/kv").expect(200)["count"] == 20
    assert server.get("/kv/client-3.4").expect(200)["value"] == [3, 4]


@pytest.mark.concurrency
def test_an_idle_connection_does_not_block_others(server):
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=10):
        server.put("/kv/busy", 1, timeout=5).expect(201)


# ---------------------------------------------------------------- errors


@pytest.mark.error
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_missing_key(shared, method):
    shared.request(method, "/kv/never-stored").error(404, "not_found")


@pytest.mark.error
@pytest.mark.parametrize(
    "segment",
    ["", "a%20b", "a%2Fb", "caf%C3%A9", "line%0A", "a%3Db", "k" * 65],
    ids=["empty", "space", "slash", "accent", "newline", "equals", "too-long"],
)
def test_invalid_key(shared, segment):
    shared.put(f"/kv/{segment}", 1).error(400, "invalid_key")
    shared.get(f"/kv/{segment}").error(400, "invalid_key")


@pytest.mark.error
@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"{'a': 1}", b"hello", b"1 2", b"\xff\xfe", b"NaN", b"[-Infinity]"],
    ids=["empty", "cut-off", "single-quotes", "bare-word", "two-values", "not-utf-8", "nan", "infinity"],
)
def test_invalid_json(shared, data):
    shared.put("/kv/bad-json", data=data).error(400, "invalid_json")
    shared.get("/kv/bad-json").error(404, "not_found")


@pytest.mark.error
def test_invalid_json_keeps_the_old_value(shared):
    shared.put("/kv/keep", "old").expect(201)
    shared.put("/kv/keep", data=b"[1,").error(400, "invalid_json")
    assert shared.get("/kv/keep").expect(200)["value"] == "old"


@pytest.mark.error
def test_body_that_is_too_large(shared):
    shared.put("/kv/large", "v" * (16385 - 2)).error(413, "too_large")
    shared.put("/kv/large", data=b"x" * 60000).error(413, "too_large")
    shared.get("/kv/large").error(404, "not_found")


@pytest.mark.error
@pytest.mark.parametrize("path", ["/", "/kvs", "/kv/a/b", "/health/", "/Health"])
def test_unknown_path(shared, path):
    shared.get(path).error(404, "unknown_path")


@pytest.mark.error
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/health"), ("DELETE", "/health"), ("POST", "/kv"), ("PUT", "/kv"), ("DELETE", "/kv")],
)
def test_method_not_allowed(shared, method, path):
    answer = shared.request(method, path, data=b"1" if method in ("POST", "PUT") else None)
    answer.error(405, "method_not_allowed")
    assert answer.headers["Allow"] == "GET"


@pytest.mark.error
def test_post_to_a_key_is_not_allowed(shared):
    answer = shared.post("/kv/posted", 1)
    answer.error(405, "method_not_allowed")
    allowed = answer.headers["Allow"].split(", ")
    assert allowed == sorted(allowed)
    assert {"DELETE", "GET", "PUT"} <= set(allowed)


@pytest.mark.error
@pytest.mark.parametrize("case", ["no-port", "no-data", "bad-port"])
def test_bad_command_line(run_entry, tmp_path, case):
    data = tmp_path / "data"
    args = {
        "no-port": ["--data", data],
        "no-data": ["--port", "31999"],
        "bad-port": ["--port", "http", "--data", data],
    }[case]
    done = run_entry(*args)
    assert done.returncode == 2
    assert done.stderr.strip()

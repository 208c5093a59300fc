"""Checkpoint 2: durability, revisions, patches and batches."""

from concurrent.futures import ThreadPoolExecutor

import pytest


def revision(server, key):
    return server.get(f"/kv/{key}").expect(200)["revision"]


def if_match(number):
    return {"If-Match": str(number)}


# ---------------------------------------------------------------- durability

ENDS = pytest.mark.parametrize("kill", [False, True], ids=["sigterm", "sigkill"])


@pytest.mark.durability
@ENDS
def test_values_survive_a_restart(server, kill):
    values = {"text": "Grüße 世界", "object": {"a": [1, None, 2.5]}, "null": None, "no": False}
    for key, value in values.items():
        server.put(f"/kv/{key}", value).expect(201)
    server.restart(kill)
    assert server.get("/kv").expect(200)["keys"] == ["no", "null", "object", "text"]
    for key, value in values.items():
        assert server.get(f"/kv/{key}").expect(200)["value"] == value


@pytest.mark.durability
@ENDS
def test_changes_and_deletions_survive_a_restart(server, kill):
    for key in ["a", "b", "c"]:
        server.put(f"/kv/{key}", {"n": 1}).expect(201)
    server.put("/kv/a", "new").expect(200)
    server.patch("/kv/b", {"m": 2}).expect(200)
    server.delete("/kv/c").expect(204)
    server.restart(kill)
    assert server.get("/kv").expect(200)["keys"] == ["a", "b"]
    assert server.get("/kv/a").expect(200)["value"] == "new"
    assert server.get("/kv/b").expect(200)["value"] == {"n": 1, "m": 2}


@pytest.mark.durability
def test_revisions_survive_a_restart(server):
    for value in range(3):
        server.put("/kv/counted", value)
    server.restart(kill=True)
    assert revision(server, "counted") == 3
    server.put("/kv/counted", 9, headers=if_match(3)).expect(200)
    assert revision(server, "counted") == 4


@pytest.mark.durability
def test_batch_survives_a_kill(server):
    server.put("/kv/old", 0).expect(201)
    ops = [{"op": "put", "key": f"k{n}", "value": n} for n in range(10)]
    server.post("/batch", {"ops": [*ops, {"op": "delete", "key": "old"}]}).expect(200)
    server.restart(kill=True)
    assert server.get("/kv").expect(200)["keys"] == [f"k{n}" for n in range(10)]


@pytest.mark.durability
def test_two_restarts(server):
    server.put("/kv/first", 1).expect(201)
    server.restart(kill=True)
    server.put("/kv/second", 2).expect(201)
    server.restart()
    assert server.get("/kv").expect(200)["keys"] == ["first", "second"]


@pytest.mark.functionality
def test_two_directories_are_two_stores(make_server):
    one, two = make_server("one"), make_server("two")
    one.put("/kv/a", 1).expect(201)
    two.put("/kv/b", 2).expect(201)
    one.restart()
    assert one.get("/kv").expect(200)["keys"] == ["a"]
    assert two.get("/kv").expect(200)["keys"] == ["b"]


# ---------------------------------------------------------------- revisions


def test_revision_counts_the_writes(shared):
    assert shared.put("/kv/rev", "x").expect(201)["revision"] == 1
    assert shared.put("/kv/rev", "x").expect(200)["revision"] == 2
    assert shared.put("/kv/rev", "y").expect(200)["revision"] == 3
    assert revision(shared, "rev") == 3


def test_revision_starts_again_after_delete(shared):
    shared.put("/kv/rev-again", 1).expect(201)
    shared.put("/kv/rev-again", 2).expect(200)
    shared.delete("/kv/rev-again").expect(204)
    assert shared.put("/kv/rev-again", 3).expect(201)["revision"] == 1


def test_put_with_matching_revision(shared):
    shared.put("/kv/cond-put", "a").expect(201)
    assert shared.put("/kv/cond-put", "b", headers=if_match(1)).expect(200)["revision"] == 2


def test_put_with_other_revision(shared):
    shared.put("/kv/cond-bad", "a").expect(201)
    shared.put("/kv/cond-bad", "b").expect(200)
    error = shared.put("/kv/cond-bad", "c", headers=if_match(1)).error(412, "revision_mismatch")
    assert error["revision"] == 2
    body = shared.get("/kv/cond-bad").expect(200)
    assert (body["value"], body["revision"]) == ("b", 2)


def test_if_match_zero_creates_only(shared):
    assert shared.put("/kv/cond-new", 1, headers=if_match(0)).expect(201)["revision"] == 1
    error = shared.put("/kv/cond-new", 2, headers=if_match(0)).error(412, "revision_mismatch")
    assert error["revision"] == 1


def test_delete_with_revision(shared):
    shared.put("/kv/cond-del", 1).expect(201)
    error = shared.delete("/kv/cond-del", headers=if_match(2)).error(412, "revision_mismatch")
    assert error["revision"] == 1
    shared.delete("/kv/cond-del", headers=if_match(1)).expect(204)


@pytest.mark.functionality
def test_patch_with_revision(shared):
    shared.put("/kv/cond-patch", {"a": 1}).expect(201)
    error = shared.patch("/kv/cond-patch", {"b": 2}, headers=if_match(7)).error(412, "revision_mismatch")
    assert error["revision"] == 1
    assert shared.patch("/kv/cond-patch", {"b": 2}, headers=if_match(1)).expect(200)["revision"] == 2


@pytest.mark.functionality
def test_revision_of_a_missing_key_is_zero(shared):
    error = shared.put("/kv/cond-none", 1, headers=if_match(4)).error(412, "revision_mismatch")
    assert error["revision"] == 0
    shared.delete("/kv/cond-none", headers=if_match(1)).error(412, "revision_mismatch")


@pytest.mark.error
def test_delete_of_a_missing_key_with_revision_zero(shared):
    shared.delete("/kv/cond-none-0", headers=if_match(0)).error(404, "not_found")


@pytest.mark.error
@pytest.mark.parametrize(
    "value", ["abc", "-1", "1.0", '"1"', "+1"], ids=["letters", "minus", "fraction", "quoted", "plus"]
)
def test_invalid_revision(shared, value):
    shared.put("/kv/cond-invalid", 1, headers={"If-Match": value}).error(400, "invalid_revision")
    shared.get("/kv/cond-invalid").error(404, "not_found")


@pytest.mark.concurrency
def test_only_one_of_several_clients_creates(server):
    def create(number):
        return server.put("/kv/prize", number, headers=if_match(0)).status

    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(create, range(12)))
    assert sorted(statuses) == [201] + [412] * 11


# ---------------------------------------------------------------- patch


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": None, "zz": None}, {"b": 2}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"o": {"x": 1, "y": 2}}, {"o": {"y": None, "z": 3}}, {"o": {"x": 1, "z": 3}}),
        ({"a": 1}, {}, {"a": 1}),
    ],
    ids=["add", "remove", "array", "nested", "empty"],
)
def test_patch_merges(shared, request, before, patch, after):
    key = "patch-" + request.node.callspec.id
    shared.put(f"/kv/{key}", before).expect(201)
    body = shared.patch(f"/kv/{key}", patch).expect(200)
    assert (body["key"], body["value"], body["revision"]) == (key, after, 2)
    assert shared.get(f"/kv/{key}").expect(200)["value"] == after


@pytest.mark.functionality
def test_patch_of_a_scalar_member_with_an_object(shared):
    shared.put("/kv/patch-scalar", {"a": 1}).expect(201)
    patch = {"a": {"x": None, "y": {"z": None}}, "b": {"c": None, "d": 1}}
    body = shared.patch("/kv/patch-scalar", patch).expect(200)
    assert body["value"] == {"a": {"y": {}}, "b": {"d": 1}}


@pytest.mark.error
@pytest.mark.parametrize("patch", [[], "text", 1, None], ids=["array", "string", "number", "null"])
def test_patch_that_is_not_an_object(shared, patch):
    shared.put("/kv/patch-kind", {"a": 1})
    shared.patch("/kv/patch-kind", patch).error(400, "invalid_patch")
    assert shared.get("/kv/patch-kind").expect(200)["value"] == {"a": 1}


@pytest.mark.error
def test_patch_of_what_is_not_an_object(shared):
    shared.put("/kv/patch-list", [1]).expect(201)
    shared.patch("/kv/patch-list", {"a": 1}).error(409, "not_an_object")
    assert revision(shared, "patch-list") == 1


@pytest.mark.error
def test_patch_of_a_missing_key(shared):
    shared.patch("/kv/patch-missing", {"a": 1}).error(404, "not_found")


@pytest.mark.error
def test_patch_with_invalid_json(shared):
    shared.put("/kv/patch-json", {}).expect(201)
    shared.patch("/kv/patch-json", data=b'{"a":').error(400, "invalid_json")


# ---------------------------------------------------------------- batch


def test_batch_applies_all(server):
    server.put("/kv/batch-b", 1).expect(201)
    server.put("/kv/batch-c", 1).expect(201)
    ops = [
        {"op": "put", "key": "batch-a", "value": {"n": 1}},
        {"op": "put", "key": "batch-b", "value": None},
        {"op": "delete", "key": "batch-c"},
    ]
    assert server.post("/batch", {"ops": ops}).expect(200)["revisions"] == [1, 2, 0]
    assert server.get("/kv").expect(200)["keys"] == ["batch-a", "batch-b"]
    assert server.get("/kv/batch-b").expect(200)["value"] is None
    server.get("/kv/batch-c").error(404, "not_found")


def test_batch_entries_see_those_before(shared):
    ops = [
        {"op": "put", "key": "seq", "value": 1},
        {"op": "put", "key": "seq", "value": 2},
        {"op": "delete", "key": "seq"},
        {"op": "put", "key": "seq", "value": 3},
    ]
    assert shared.post("/batch", {"ops": ops}).expect(200)["revisions"] == [1, 2, 0, 1]
    assert shared.get("/kv/seq").expect(200)["value"] == 3


def test_batch_that_fails_changes_nothing(server):
    server.put("/kv/a", 1).expect(201)
    ops = [
        {"op": "put", "key": "a", "value": 2},
        {"op": "put", "key": "b", "value": 2},
        {"op": "delete", "key": "missing"},
        {"op": "delete", "key": "a"},
    ]
    error = server.post("/batch", {"ops": ops}).error(409, "batch_failed")
    assert error["index"] == 2
    assert server.get("/kv").expect(200)["keys"] == ["a"]
    body = server.get("/kv/a").expect(200)
    assert (body["value"], body["revision"]) == (1, 1)


@pytest.mark.error
@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"ops": {}},
        {"ops": []},
        {"ops": [1]},
        {"ops": [{"op": "get", "key": "a"}]},
        {"ops": [{"op": "put", "key": "a b", "value": 1}]},
        {"ops": [{"op": "put", "key": 5, "value": 1}]},
        {"ops": [{"op": "put", "key": "a"}]},
        {"ops": [{"op": "delete"}]},
        {"ops": [{"op": "put", "key": "a", "value": 1}] * 101},
    ],
    ids=[
        "array",
        "no-ops",
        "ops-object",
        "no-entries",
        "entry-number",
        "unknown-op",
        "bad-key",
        "key-number",
        "no-value",
        "no-key",
        "too-many",
    ],
)
def test_invalid_batch(shared, body):
    shared.post("/batch", body).error(400, "invalid_batch")


@pytest.mark.error
def test_invalid_entry_after_valid_ones(shared):
    ops = [{"op": "put", "key": "half-done", "value": 1}, {"op": "rename", "key": "half-done"}]
    shared.post("/batch", {"ops": ops}).error(400, "invalid_batch")
    shared.get("/kv/half-done").error(404, "not_found")


@pytest.mark.error
def test_allow_of_the_new_paths(shared):
    answer = shared.get("/batch")
    answer.error(405, "method_not_allowed")
    assert answer.headers["Allow"] == "POST"
    answer = shared.post("/kv/some-key", 1)
    answer.error(405, "method_not_allowed")
    assert answer.headers["Allow"] == "DELETE, GET, PATCH, PUT"


@pytest.mark.regression
def test_replacing_still_forgets_the_old_members(shared):
    shared.put("/kv/still-put", {"a": 1}).expect(201)
    shared.put("/kv/still-put", {"b": 2}).expect(200)
    assert shared.get("/kv/still-put").expect(200)["value"] == {"b": 2}

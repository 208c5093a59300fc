"""Files to values, with every mistake in its place."""

import json
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from engine.errors import DocumentError, Place
from engine.mistakes import Tree, find_mistakes
from engine.quantities import Duration, Size, seconds, size_in_bytes, spoken_duration
from engine.yamlfile import Document, Layers, convert, read_bytes

HERE = Path("/somewhere")


class Inner(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part."""

    count: Annotated[int, Meta(ge=1, le=9)]
    kind: Literal["one", "two"] = "one"


class Outer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole, with every shape that documents have."""

    name: Annotated[str, Meta(min_length=1)]
    parts: dict[str, Inner] = {}
    listed: tuple[str | Inner, ...] = ()
    limit: Duration | None = None
    size: Size = 1
    switch: bool = False
    either: Annotated[int, Meta(ge=0)] | Literal["auto"] = "auto"
    share: Annotated[float, Meta(gt=0)] = 1.0


def document(text: str, variables: dict[str, str] | None = None, name: str = "a.yaml") -> Document:
    """Read text as if it stood in a file."""
    return read_bytes(text.encode(), name=name, folder=HERE, variables=variables)


def test_anchors_and_merges_are_resolved() -> None:
    """A merge brings keys that the mapping itself, and earlier merges, win over."""
    tree = document("base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nuse: {<<: [*b, *m], x: 9}\n").tree
    assert tree == {"base": {"x": 1, "y": 2}, "more": {"y": 3, "z": 4}, "use": {"x": 9, "y": 2, "z": 4}}


def test_an_anchor_may_be_set_again() -> None:
    """An alias stands for the anchor that came last before it, without a warning."""
    assert document("a: &x 1\nb: *x\nc: &x 2\nd: *x\n").tree == {"a": 1, "b": 1, "c": 2, "d": 2}


def test_values_are_plain() -> None:
    """Dates and old-fashioned switches stay text, and keys are text whatever they look like."""
    tree = document("a: 2025-01-02\nb: on\n1: 0x10\nc: 1_000\nd: ~\ne: 0o17\nf: 1.5\ng: 1:30\n").tree
    assert tree == {
        "a": "2025-01-02",
        "b": "on",
        "1": 16,
        "c": 1000,
        "d": None,
        "e": 15,
        "f": 1.5,
        "g": "1:30",
    }


def test_variables_are_replaced_only_where_they_are_written_in_braces() -> None:
    """`${NAME}` and `${NAME:-default}` are replaced, `$${` is an escape, and `$NAME` is left alone."""
    text = "a: ${X}\nb: ${MISSING:-dflt}/${X}\nc: $${X} $X ${X%.py}\nd: ${N}\ne: '${N}'\nf: ${EMPTY:-full}\n"
    tree = document(text, {"X": "x", "N": "4", "EMPTY": ""}).tree
    assert tree == {"a": "x", "b": "dflt/x", "c": "${X} $X ${X%.py}", "d": 4, "e": "4", "f": "full"}


def test_without_variables_nothing_is_replaced() -> None:
    """Documents that are not manifests keep their dollar signs."""
    assert document("a: ${X}\n").tree == {"a": "${X}"}


def test_every_mistake_is_told_with_its_place() -> None:
    """One conversion tells all mistakes, in the order in which they stand in the file."""
    text = (
        "nam: x\nparts:\n  first: {count: 0}\n  second: {count: 3, kind: tow}\nlisted: [a, {count: x}, 3]\n"
    )
    with pytest.raises(DocumentError) as caught:
        convert(document(text), Outer)
    assert [(place.line, place.column, place.message) for place in caught.value.places] == [
        (1, 1, "unknown key `nam`"),
        (1, 1, "`name` is missing"),
        (3, 18, "`count`: expected a whole number from 1 to 9, got the number 0"),
        (4, 28, "`kind`: expected one of `one`, `two`, got the text 'tow'"),
        (5, 21, "`count`: expected a whole number from 1 to 9, got the text 'x'"),
        (5, 25, "`listed`: expected text or a mapping, got the number 3"),
    ]


def test_a_mistake_in_a_merged_mapping_is_told_where_it_was_written() -> None:
    """The place of a value that came by `<<` is that of the anchor's own text."""
    text = "name: x\nparts:\n  base: &b {count: 1, kind: nope}\n  use: {<<: *b, count: 2}\n"
    with pytest.raises(DocumentError) as caught:
        convert(document(text), Outer)
    assert {(place.line, place.column) for place in caught.value.places} == {(3, 29)}


@pytest.mark.parametrize("indent", [None, 1, "\t"])
def test_places_in_json_are_those_of_its_text(indent: int | str | None) -> None:
    """JSON of any layout gives the line and column of the value that is wrong."""
    text = json.dumps({"name": "x", "listed": ["é", {"count": 1}, {"count": 77}]}, indent=indent)
    with pytest.raises(DocumentError) as caught:
        convert(document(text, name="a.json"), Outer)
    place = caught.value.places[0]
    lines = text.splitlines()
    assert lines[place.line - 1][place.column - 1 :].startswith("77")


def test_later_documents_win() -> None:
    """Mappings merge, everything else replaces, and a place is that of the document that won."""
    base = document("name: a\nparts: {x: {count: 1}, y: {count: 2}}\nlisted: [a, b]\n", name="base.yaml")
    top = document("parts:\n  y: {count: 99}\nlisted: [c]\n", name="top.yaml")
    layers = Layers([base, top])
    assert layers.get(("listed",)) == ["c"]
    assert layers.get(("parts", "x", "count")) == 1
    with pytest.raises(DocumentError) as caught:
        convert(layers, Outer)
    place = caught.value.places[0]
    assert (place.file, place.line, place.column) == ("top.yaml", 2, 14)


TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "one", "auto", "30s", "2GiB", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "parts", "listed", "limit", "size", "count", "kind", "either", "share", "other"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(TREES)
def test_a_tree_has_mistakes_exactly_when_msgspec_refuses_it(tree: Tree) -> None:
    """Our own words for what is wrong never disagree with the conversion itself."""
    try:
        msgspec.convert(tree, Outer)
        fits = True
    except msgspec.ValidationError:
        fits = False
    assert fits == (not list(find_mistakes(tree, Outer)))


@given(TREES)
def test_json_and_yaml_read_the_same(tree: Tree) -> None:
    """A JSON text means the same when it is read as YAML, places included."""
    text = json.dumps({"name": tree}, indent=1)
    fast, slow = document(text), document(f"# YAML, for it has a comment\n{text}")
    assert fast.tree == slow.tree
    here, there = fast.place(("name",), ""), slow.place(("name",), "")
    assert (here.line + 1, here.column) == (there.line, there.column)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_give_a_document_or_its_mistakes(data: bytes) -> None:
    """Nothing that a file can contain gives anything but values or a DocumentError."""
    places: tuple[Place, ...] = ()
    try:
        read_bytes(data, name="any", folder=HERE, variables={})
    except DocumentError as error:
        places = error.places
    assert all(place.line >= 1 and place.message for place in places)


@pytest.mark.parametrize(
    ("written", "meant"),
    [("90s", 90), ("10m", 600), ("1h30m", 5400), ("1.5h", 5400), ("250ms", 0.25), (7, 7), ("2d", 172800)],
)
def test_durations(written: str | float, meant: float) -> None:
    """Durations are written as people say them, or as seconds."""
    assert msgspec.convert(written, Duration) == written
    assert seconds(written) == meant


@given(st.integers(1, 10**6))
def test_a_duration_that_is_said_can_be_read_again(value: int) -> None:
    """What messages say is what a manifest could write."""
    assert seconds(spoken_duration(value)) == value


@pytest.mark.parametrize(
    ("written", "meant"),
    [("512M", 512 << 20), ("2GiB", 2 << 30), ("1kb", 1000), ("1.5g", 3 << 29), (4096, 4096), ("10 B", 10)],
)
def test_sizes(written: str | int, meant: int) -> None:
    """Sizes are written as Docker's options are, or as bytes."""
    assert msgspec.convert(written, Size) == written
    assert size_in_bytes(written) == meant

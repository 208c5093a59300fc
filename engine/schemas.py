"""JSON Schemas of everything that people write and programs read, from the very types that the engine uses.

A new kind of document is one row of `KINDS`.
"""

from collections.abc import Mapping

import msgspec

from engine.environment import EnvironmentDocument, ScbenchEnvironmentDocument
from engine.events import Event, ResultLine
from engine.manifestdocument import EvaluationDocument, ManifestDocument
from engine.mistakes import Tree
from engine.problem import ProblemDocument
from engine.results import CorrectnessResults

DIALECT = "https://json-schema.org/draft/2020-12/schema"

KINDS: Mapping[str, tuple[str, object]] = {
    "manifest": ("What to evaluate, under what, and how", ManifestDocument),
    "problem": ("The config.yaml of a problem", ProblemDocument),
    "environment": ("What a submission runs under", EnvironmentDocument),
    "line": ("One evaluation on standard input", EvaluationDocument),
    "event": ("A line of events.jsonl", Event),
    "result": ("A line of results.jsonl", ResultLine),
    "evaluation": ("The file evaluation.json", CorrectnessResults),
}

# Where a document may hold an environment, it may hold one in SCBench's form.
_BOTH_FORMS = {"manifest", "environment"}


def schema(kind: str) -> dict[str, Tree]:
    """Make the JSON Schema of one kind of document."""
    title, wanted = KINDS[kind]
    types = [wanted, ScbenchEnvironmentDocument] if kind in _BOTH_FORMS else [wanted]
    (main, *_), definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    made = {"$schema": DIALECT, "title": title, **main, "$defs": definitions}
    plain: dict[str, Tree] = msgspec.json.decode(msgspec.json.encode(made))
    if kind in _BOTH_FORMS:
        plain = _with_both_forms(plain)
    return plain


def _with_both_forms(made: dict[str, Tree]) -> dict[str, Tree]:
    native: dict[str, Tree] = {"$ref": f"#/$defs/{EnvironmentDocument.__name__}"}
    foreign: dict[str, Tree] = {"$ref": f"#/$defs/{ScbenchEnvironmentDocument.__name__}"}
    either: dict[str, Tree] = {"anyOf": [native, foreign]}

    def replaced(tree: Tree) -> Tree:
        if tree == native:
            return either
        if isinstance(tree, dict):
            return {key: replaced(value) for key, value in tree.items()}
        return [replaced(value) for value in tree] if isinstance(tree, list) else tree

    if made.get("$ref") == native["$ref"]:
        return {key: value for key, value in made.items() if key != "$ref"} | either
    return {key: replaced(value) for key, value in made.items()}

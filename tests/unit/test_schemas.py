"""JSON Schemas, checked by a real validator against real documents."""

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from engine.cli.schema import schema as schema_command
from engine.cli.schema import schema_text
from engine.schemas import KINDS, schema
from engine.yamlfile import read

TOP = Path(__file__).parents[2]
DATA = TOP / "tests" / "data" / "manifests"
MANIFESTS = [*sorted((TOP / "manifests").glob("*.yaml")), *sorted((TOP / "manifests").glob("*.json"))]
WRONG_SHAPE = [
    "unknown-key",
    "wrong-policy",
    "not-a-duration",
    "not-a-size",
    "evaluations-a-mapping",
    "repeat-zero",
    "matrix-empty",
    "label-is-a-list",
    "environment-bad",
    "version-2",
]


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_valid(kind: str) -> None:
    """Each is a schema of the dialect that it names."""
    Draft202012Validator.check_schema(schema(kind))


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.name)
def test_manifests_fit_their_schema(manifest: Path) -> None:
    """An editor finds no fault with what we ship; what an include brings is not asked for."""
    wanted = schema("manifest")
    definition = wanted["$defs"]["ManifestDocument"]  # type: ignore[index,call-overload]
    if "shared/common.yaml" in manifest.read_text("utf-8"):
        definition["required"] = ["version"]  # type: ignore[index,call-overload]
    Draft202012Validator(wanted).validate(read(manifest).tree)


@pytest.mark.parametrize("name", WRONG_SHAPE)
def test_the_schema_refuses_what_check_refuses(name: str) -> None:
    """Editors mark the mistakes of shape that `check` would tell."""
    tree = read(DATA / "broken" / f"{name}.yaml").tree
    assert not Draft202012Validator(schema("manifest")).is_valid(tree)


@pytest.mark.parametrize(
    "config", sorted((TOP / "problems").glob("*/config.yaml")), ids=lambda path: path.parent.name
)
def test_problems_fit_their_schema(config: Path) -> None:
    """The problems that we ship are examples of the published form."""
    Draft202012Validator(schema("problem")).validate(read(config).tree)


@pytest.mark.parametrize(
    ("environment", "fits"),
    [
        ({"image": "x", "setup": ["uv sync"]}, True),
        ({"type": "docker", "docker": {"image": "x"}, "commands": {"command": "uv run"}, "other": 1}, True),
        ({"imag": "x"}, False),
        ({"type": "podman"}, False),
    ],
)
def test_environments_of_both_forms_fit(environment: object, fits: bool) -> None:
    """The native form is strict; SCBench's lets other tools' keys pass."""
    assert Draft202012Validator(schema("environment")).is_valid(environment) is fits


@pytest.mark.parametrize("kind", KINDS)
def test_published_schemas_are_current(kind: str) -> None:
    """`scbench schema --write manifests/schemas` has been run since the types changed."""
    assert (TOP / "manifests" / "schemas" / f"{kind}.json").read_bytes() == schema_text(kind)


def test_the_command_prints_a_schema() -> None:
    """One kind goes to standard output; no kind is a mistake that names them all."""
    result = CliRunner().invoke(schema_command, ["manifest"])
    assert json.loads(result.stdout) == msgspec.to_builtins(schema("manifest"))
    result = CliRunner().invoke(schema_command, [])
    assert result.exit_code == 2
    assert "manifest, problem, environment" in result.stderr

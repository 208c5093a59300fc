"""`scbench schema`: JSON Schemas for editors and validators."""

from pathlib import Path

import click
import msgspec

from engine.schemas import KINDS
from engine.schemas import schema as make_schema


@click.command()
@click.argument("kind", type=click.Choice(list(KINDS)), required=False)
@click.option(
    "--write",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write all schemas there, as KIND.json.",
)
def schema(kind: str | None, folder: Path | None) -> None:
    """Print the JSON Schema of a kind of document.

    An editor with YAML support completes and checks a manifest that begins with the line
    `# yaml-language-server: $schema=manifest.json`.

    \b
    Example:
      scbench schema manifest > manifest.json
      scbench schema --write schemas
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for one in KINDS:
            (folder / f"{one}.json").write_bytes(schema_text(one))
    elif kind is not None:
        click.echo(schema_text(kind), nl=False)
    else:
        raise click.UsageError(f"which kind? one of {', '.join(KINDS)}, or --write DIR for all")


def schema_text(kind: str) -> bytes:
    """The schema of a kind of document as it stands in a file."""
    return msgspec.json.format(msgspec.json.encode(make_schema(kind))) + b"\n"

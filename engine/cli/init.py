"""`scbench init`: write a first manifest for what is there."""

from pathlib import Path

import click

from engine.cli.schema import schema_text
from engine.errors import UserError
from engine.firstmanifest import discover, first_manifest


@click.command()
@click.argument("manifest", type=click.Path(path_type=Path, dir_okay=False), default=Path("manifest.yaml"))
@click.option("--force", is_flag=True, help="Overwrite the file.")
@click.option(
    "--schema/--no-schema", "with_schema", default=True, help="Write manifest.schema.json for editors."
)
def init(manifest: Path, force: bool, with_schema: bool) -> None:
    """Write a commented manifest for the problems and submissions found around it.

    \b
    Example:
      scbench init
      scbench init manifests/mine.yaml
    """
    if manifest.exists() and not force:
        raise UserError(f"{manifest} exists already: name another file, or say --force")
    found = discover(Path.cwd(), manifest.parent)
    schema_name = f"{manifest.stem}.schema.json" if with_schema else None
    manifest.parent.mkdir(parents=True, exist_ok=True)
    if schema_name is not None:
        (manifest.parent / schema_name).write_bytes(schema_text("manifest"))
    manifest.write_text(first_manifest(found, manifest.stem, schema_name), "utf-8")
    click.echo(f"wrote {manifest}; next: scbench check {manifest}")

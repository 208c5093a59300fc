"""`scbench clean`: remove what earlier runs left or kept, and only what is ours."""

import time

import anyio
import anyio.to_thread
import click
import msgspec

from engine.environment import SandboxName
from engine.errors import SandboxUnavailable, UserError
from engine.paths import state_folder
from engine.quantities import Duration, seconds
from engine.sandbox.choice import open_sandbox
from engine.store import Store


@click.command()
@click.option("--older-than", metavar="AGE", help="Only what was made or used longer ago, such as 30d.")
@click.option("--prepared", is_flag=True, help="Prepared toolchains and environments, too.")
@click.option("--results", is_flag=True, help="Stored results, too.")
@click.option("--dry-run", is_flag=True, help="Tell, but remove nothing.")
def clean(older_than: str | None, prepared: bool, results: bool, dry_run: bool) -> None:
    """Remove containers and folders of runs that died and, if asked, what is kept for later runs.

    \b
    Example:
      scbench clean
      scbench clean --prepared --results --older-than 30d --dry-run
    """
    age = _age(older_than)
    for name in ("docker", "local"):
        anyio.run(_clean_sandbox, name, age if prepared else None, dry_run)
    if results:
        cleaned = Store(state_folder() / "results").clean(older_than=age, dry_run=dry_run)
        _tell(dry_run, f"{cleaned.files} stored results, {cleaned.size / 1e6:.1f} MB")


async def _clean_sandbox(name: SandboxName, age: float | None, dry_run: bool) -> None:
    try:
        async with open_sandbox(name, sweep=False) as sandbox:
            orphans = await sandbox.sweep(dry_run=dry_run)
            _tell(dry_run, f"{orphans} leftovers of dead runs ({name})")
            if age is None:
                return
            before = time.time() - age
            old = [kept for kept in await sandbox.kept() if kept.created < before]
            for kept in [] if dry_run else old:
                await sandbox.remove(kept)
            _tell(dry_run, f"{len(old)} prepared environments ({name})")
    except SandboxUnavailable as error:
        click.echo(str(error).partition("\n")[0], err=True)


def _age(text: str | None) -> float:
    if text is None:
        return 0.0
    try:
        return seconds(msgspec.convert(text, type=Duration))
    except msgspec.ValidationError as error:
        raise UserError(f"--older-than {text}: say a duration such as 12h or 30d") from error


def _tell(dry_run: bool, what: str) -> None:
    click.echo(f"{'would remove' if dry_run else 'removed'} {what}")

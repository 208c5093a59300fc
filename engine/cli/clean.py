"""`scbench clean`: remove what earlier runs left or kept, and only what is ours."""

import time
from collections import defaultdict
from collections.abc import Iterable

import anyio
import click
import msgspec

from engine.boardview import clock
from engine.environment import SandboxName
from engine.errors import SandboxUnavailable, UserError
from engine.paths import state_folder
from engine.quantities import Duration, seconds
from engine.sandbox import Kept, Sandbox
from engine.sandbox.choice import open_sandbox
from engine.store import Store


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What to remove."""

    # Seconds since it was made or used.
    age: float
    prepared: bool
    results: bool
    dry_run: bool
    verbose: bool


@click.command()
@click.option("--older-than", metavar="AGE", help="Only what was made or used longer ago, such as 30d.")
@click.option("--prepared", is_flag=True, help="Prepared toolchains and environments, too.")
@click.option("--results", is_flag=True, help="Stored results, too.")
@click.option("--dry-run", is_flag=True, help="Tell, but remove nothing.")
@click.option("--verbose", is_flag=True, help="Name each thing and its age.")
def clean(older_than: str | None, **given: bool) -> None:
    """Remove containers and folders of runs that died and, if asked, what is kept for later runs.

    Only what carries our label is looked at, and nothing that a living run uses is removed.

    \b
    Example:
      scbench clean
      scbench clean --prepared --results --older-than 30d --dry-run
    """
    wanted = msgspec.convert({**given, "age": _age(older_than)}, Wanted)
    for name in ("docker", "local"):
        anyio.run(_clean_sandbox, name, wanted)
    _clean_results(wanted)


async def _clean_sandbox(name: SandboxName, wanted: Wanted) -> None:
    try:
        async with open_sandbox(name, sweep=False) as sandbox:
            orphans = await sandbox.sweep(dry_run=wanted.dry_run)
            what = "containers" if name == "docker" else "folders"
            _tell(wanted, f"{orphans} {what} of dead runs ({name})")
            await _clean_prepared(sandbox, wanted)
    except SandboxUnavailable as error:
        click.echo(str(error).partition("\n")[0], err=True)


async def _clean_prepared(sandbox: Sandbox, wanted: Wanted) -> None:
    now = time.time()
    kept = await sandbox.kept()
    old = [one for one in kept if now - one.created > wanted.age]
    if not wanted.prepared:
        if kept:
            click.echo(f"kept: {', '.join(_counted(kept, now))} ({sandbox.name}); --prepared removes them")
        return
    if not wanted.dry_run:
        for one in old:
            await sandbox.remove(one)
    used = {one.name for one in await sandbox.kept()} if not wanted.dry_run else set[str]()
    gone = [one for one in old if one.name not in used]
    for told in _counted(gone, now) or ["0 prepared environments"]:
        _tell(wanted, f"{told} ({sandbox.name})")
    if len(gone) < len(old):
        click.echo(f"kept: {len(old) - len(gone)} that are in use ({sandbox.name})")
    for one in gone if wanted.verbose else ():
        click.echo(f"  {one.kind} {one.name}, made {spoken_age(now - one.created)} ago")


def _counted(things: Iterable[Kept], now: float) -> list[str]:
    """Count things by kind, with the range of their ages."""
    ages: dict[str, list[float]] = defaultdict(list)
    for one in things:
        ages[one.kind].append(now - one.created)
    return [_range(kind, found) for kind, found in sorted(ages.items())]


def _range(kind: str, ages: list[float]) -> str:
    youngest, oldest = spoken_age(min(ages)), spoken_age(max(ages))
    spread = youngest if youngest == oldest else f"{youngest} to {oldest}"
    return f"{len(ages)} {kind}{'s' if len(ages) > 1 else ''} made {spread} ago"


def _clean_results(wanted: Wanted) -> None:
    store = Store(state_folder() / "results")
    found = store.clean(older_than=wanted.age, dry_run=wanted.dry_run or not wanted.results)
    told = f"{found.files} stored results, {found.size / 1e6:.1f} MB"
    if wanted.results:
        _tell(wanted, told)
    elif found.files:
        click.echo(f"kept: {told}; --results removes them")


def spoken_age(age: float) -> str:
    """Say an age in its largest unit that fits."""
    return f"{age / 86400:.0f}d" if age >= 86400 else clock(age)


def _age(text: str | None) -> float:
    if text is None:
        return 0.0
    try:
        return seconds(msgspec.convert(text, type=Duration))
    except msgspec.ValidationError as error:
        raise UserError(f"--older-than {text}: say a duration such as 12h or 30d") from error


def _tell(wanted: Wanted, what: str) -> None:
    click.echo(f"{'would remove' if wanted.dry_run else 'removed'} {what}")

"""`scbench doctor`: what is missing here, and the command that mends it."""

import os
import sys

import anyio
import click
from rich.console import Console
from rich.text import Text

from engine.diagnosis import Finding, findings, try_evaluation
from engine.environment import EnvironmentSpec, SandboxName
from engine.views.text import one_line

COLOURS = {"fine": "green", "warning": "yellow", "missing": "red"}


@click.command()
@click.option(
    "--image", metavar="IMAGE", help="The image to look at; default: $SCBENCH_IMAGE or python:3.12-slim."
)
@click.option("--evaluate", is_flag=True, help="Run a tiny evaluation from end to end, too.")
@click.option(
    "--sandbox", type=click.Choice(["docker", "local"]), default="docker", help="Where to evaluate."
)
def doctor(image: str | None, evaluate: bool, sandbox: SandboxName) -> None:
    """Check what evaluations need, and print the command that mends what is missing.

    Looks at the daemon, its version, cgroups, limits that hold in a real container, disk, image, uv,
    certificates and proxies. Exits with 3 where something is missing.

    \b
    Example:
      scbench doctor
      scbench doctor --image python:3.12-slim --evaluate
    """
    chosen = image or os.environ.get("SCBENCH_IMAGE") or EnvironmentSpec().image
    sys.exit(anyio.run(_examine, chosen, sandbox if evaluate else None))


async def _examine(image: str, sandbox: SandboxName | None) -> int:
    console = Console(highlight=False, soft_wrap=True)
    missing = 0
    async for finding in findings(image):
        console.print(_told(finding))
        missing += finding.state == "missing"
    if sandbox is not None and (not missing or sandbox == "local"):
        finding = await try_evaluation(sandbox, image)
        console.print(_told(finding))
        missing += finding.state == "missing"
    return 3 if missing else 0


def _told(finding: Finding) -> Text:
    line = Text.assemble((f"{finding.state:<8}", COLOURS[finding.state]), f"{finding.name}: ")
    line.append(one_line(finding.told, 400))
    if finding.mend:
        line.append(f"\n        mend it: {finding.mend}", style="bold")
    return line

"""What is missing on this machine, and the command that mends it.

Each check is a function that returns a finding; what needs a daemon is in `daemon_findings`. A new check is a
function and a line in `local_findings` or `daemon_findings`.
"""

import os
import shutil
import ssl
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import anyio.to_thread
import msgspec

from engine import host
from engine.environment import EnvironmentSpec, SandboxName
from engine.errors import SandboxUnavailable
from engine.paths import cache_folder, state_folder
from engine.problem import load_problem
from engine.runner import PytestRunner
from engine.sandbox.docker import DockerSandbox
from engine.sandbox.launch import CERTIFICATE_VARIABLES
from engine.sandbox.probe import DaemonFacts
from engine.sandbox.uvprogram import PROCESSORS, version

State = Literal["fine", "warning", "missing"]
OLDEST_DAEMON = (20, 10)
GIB = 1 << 30
DISK_ENOUGH = 3 * GIB
SOCKET = "/var/run/docker.sock"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    name: str
    state: State
    told: str
    # The command, or what to do, where it is not fine.
    mend: str = ""


def fine(name: str, told: str) -> Finding:
    """Say that something is as it should be."""
    return Finding(name=name, state="fine", told=told)


async def findings(image: str) -> AsyncIterator[Finding]:
    """Look at everything, and tell each finding as soon as it is there."""
    try:
        async with DockerSandbox.open("doctor") as sandbox:
            async for finding in daemon_findings(sandbox, image):
                yield finding
    except SandboxUnavailable as error:
        yield _no_daemon(str(error))
    for finding in await anyio.to_thread.run_sync(lambda: tuple(local_findings())):
        yield finding


async def daemon_findings(sandbox: DockerSandbox, image: str) -> AsyncIterator[Finding]:
    """Look at the daemon, its limits and the image."""
    facts = await sandbox.facts()
    yield fine("daemon", f"{facts.operating_system}, {facts.architecture}, storage driver {facts.driver}")
    yield check_version(facts)
    yield check_cgroups(facts)
    yield check_uv(facts.architecture)
    yield await anyio.to_thread.run_sync(check_daemon_disk, Path(facts.docker_root_dir))
    digest = await sandbox.known_digest(image)
    if digest is None:
        told = f"{image} is not here; it is pulled when it is needed"
        yield Finding(name="image", state="warning", told=told, mend=f"docker pull {image}")
        return
    yield fine("image", f"{image} {digest}")
    yield await _limits(sandbox, image)
    orphans = await sandbox.sweep(dry_run=True)
    if orphans:
        yield Finding(name="leftovers", state="warning", told=f"{orphans} of dead runs", mend="scbench clean")


def local_findings() -> Iterator[Finding]:
    """Look at what this machine itself has."""
    for name, folder in (("results", state_folder()), ("cache", cache_folder())):
        yield check_disk(
            f"disk for {name}", folder, f"scbench clean --{'results' if name == 'results' else 'prepared'}"
        )
    yield check_client()
    yield from check_certificates()
    yield from check_proxies()


def _no_daemon(reason: str) -> Finding:
    """Say how to get a daemon, by what stands in the way."""
    address = os.environ.get("DOCKER_HOST")
    socket = Path(SOCKET)
    if address:
        mend = f"start the daemon at {address}, or: unset DOCKER_HOST"
    elif not socket.exists():
        installed = shutil.which("dockerd") is not None
        mend = "sudo systemctl start docker" if installed else "sudo apt-get install docker.io"
    elif not os.access(socket, os.R_OK | os.W_OK):
        mend = "sudo usermod -aG docker $USER, then log in again"
    else:
        mend = "sudo systemctl restart docker"
    return Finding(name="daemon", state="missing", told=reason.partition("\n")[0], mend=mend)


def check_version(facts: DaemonFacts) -> Finding:
    """Look whether the daemon is new enough."""
    try:
        numbers = tuple(map(int, facts.server_version.split(".")[:2]))
    except ValueError:
        return Finding(
            name="version", state="warning", told=f"{facts.server_version}: cannot tell how old it is"
        )
    if numbers < OLDEST_DAEMON:
        wanted = ".".join(map(str, OLDEST_DAEMON))
        told = f"{facts.server_version} is older than {wanted}"
        return Finding(name="version", state="missing", told=told, mend="sudo apt-get install docker.io")
    return fine("version", facts.server_version)


def check_cgroups(facts: DaemonFacts) -> Finding:
    """Look whether the kernel lets the daemon limit anything."""
    wanted = {
        "memory": facts.memory_limit,
        "swap": facts.swap_limit,
        "pids": facts.pids_limit,
        "cpu": facts.cpu_cfs_quota,
    }
    without = [name for name, there in wanted.items() if not there]
    told = f"version {facts.cgroup_version or '?'} by {facts.cgroup_driver or '?'}"
    if without:
        mend = "add cgroup_enable=memory swapaccount=1 to the kernel's command line, and start again"
        told = f"{told}, no limit of {', '.join(without)}"
        state: State = "warning" if without == ["swap"] else "missing"
        return Finding(name="cgroups", state=state, told=told, mend=mend)
    return fine("cgroups", told)


async def _limits(sandbox: DockerSandbox, image: str) -> Finding:
    held = await sandbox.probe(image, "python3")
    if held is None:
        told = f"no container of {image} could try them; does it have python3?"
        return Finding(name="limits", state="missing", told=told, mend=f"docker run --rm {image} python3 -V")
    broken = [name for name, one in msgspec.structs.asdict(held).items() if not one]
    if broken:
        told = f"do not hold: {', '.join(broken)}"
        mend = "use a daemon that runs as root, on cgroups version 2"
        return Finding(name="limits", state="missing", told=told, mend=mend)
    return fine("limits", "memory, pids, disk, cpu, no network and a read-only root hold in a container")


def check_daemon_disk(folder: Path) -> Finding:
    """Look whether the daemon has room, where its folder is on this machine."""
    if not folder.is_absolute() or not folder.exists():
        return fine("disk of the daemon", "on another machine; not looked at")
    return check_disk("disk of the daemon", folder, "docker system prune")


def check_disk(name: str, folder: Path, mend: str) -> Finding:
    """Look whether there is room below a folder."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = host.disk_free(there)
    if free is None:
        return Finding(name=name, state="warning", told=f"{there}: cannot tell what is free")
    told = f"{free / GIB:.1f} GiB free at {there}"
    if free < DISK_ENOUGH:
        return Finding(name=name, state="missing", told=f"only {told}", mend=mend)
    return fine(name, told)


def check_uv(architecture: str) -> Finding:
    """Look whether uv can be brought into containers."""
    own = os.uname().machine
    wanted = PROCESSORS.get(architecture, architecture)
    if wanted != own:
        told = f"{version()} for {own}; the daemon has {wanted}, for which it is fetched once"
        return Finding(name="uv", state="warning", told=told, mend="see that a package index can be reached")
    return fine("uv", f"{version()} for {own}")


def check_client() -> Finding:
    """Look for the docker client, which only `scbench debug` needs."""
    found = shutil.which("docker")
    if found is None:
        told = "not here; only scbench debug needs it"
        return Finding(
            name="docker client", state="warning", told=told, mend="sudo apt-get install docker-cli"
        )
    return fine("docker client", found)


def check_certificates() -> Iterator[Finding]:
    """Look whether the certificate bundles that are set exist and can be read."""
    named: dict[str, str] = {}
    for name in reversed(CERTIFICATE_VARIABLES):
        if path := os.environ.get(name):
            named[path] = name
    if not named:
        yield fine("certificates", "none of its own; containers use those of their image")
    for path, name in named.items():
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(cafile=path)
            yield fine(
                "certificates", f"{name}: {context.cert_store_stats()['x509_ca']} authorities in {path}"
            )
        except OSError as error:
            told = f"{name}={path}: {error.strerror or error}"
            mend = f"unset {name}, or: export {name}=/etc/ssl/certs/ca-certificates.crt"
            yield Finding(name="certificates", state="missing", told=told, mend=mend)


def check_proxies() -> Iterator[Finding]:
    """Look whether containers can use the proxies that are set; never tell a password."""
    named = {name: os.environ[name] for name in PROXIES if os.environ.get(name)}
    if not named:
        yield fine("proxy", "none is set")
    for name, address in named.items():
        parts = urlsplit(address if "//" in address else f"//{address}")
        where = f"{parts.hostname or '?'}:{_port(address)}"
        if parts.hostname in ("localhost", "127.0.0.1", "::1"):
            told = f"{name} is {where}, which in a container is the container itself"
            mend = f"export {name}=http://172.17.0.1:{_port(address)}, and let the proxy listen there"
            yield Finding(name="proxy", state="warning", told=told, mend=mend)
        else:
            yield fine("proxy", f"{name} is {where}")


def _port(address: str) -> int:
    try:
        return urlsplit(address if "//" in address else f"//{address}").port or 80
    except ValueError:
        return 80


CONFIG = """\
name: doctor
entry_file: main.py
checkpoints:
  checkpoint_1: {version: 1}
"""
CONFTEST = """\
import pytest, shlex
def pytest_addoption(parser):
    parser.addoption("--entrypoint")
    parser.addoption("--checkpoint")
@pytest.fixture
def entrypoint(request):
    return shlex.split(request.config.getoption("--entrypoint"))
"""
TEST = """\
import subprocess
def test_answer(entrypoint):
    assert subprocess.check_output(entrypoint) == b"42\\n"
"""


async def try_evaluation(sandbox: SandboxName, image: str) -> Finding:
    """Evaluate a tiny submission from end to end: preparation, seal, tests, verdict."""
    with tempfile.TemporaryDirectory(prefix="scbench-doctor-") as folder:
        problem, submission = Path(folder, "problem"), Path(folder, "submission")
        files = {
            problem / "config.yaml": CONFIG,
            problem / "tests" / "conftest.py": CONFTEST,
            problem / "tests" / "test_checkpoint_1.py": TEST,
            submission / "main.py": "print(42)\n",
        }
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        loaded = load_problem(problem)
        environment = EnvironmentSpec(sandbox=sandbox, image=image)
        runner = PytestRunner(loaded, loaded.checkpoint("checkpoint_1"), environment, submission)
        results = await runner.run()
    if results.broken is None and results.pass_counts == results.total_counts:
        sealed = "sealed" if results.environment.sealed else "not sealed"
        return fine("evaluation", f"passed in {results.duration:.1f} s, {sealed}, in the {sandbox} sandbox")
    broken = results.broken
    told = f"{broken.kind}: {broken.detail.strip().splitlines()[-1]}" if broken else "it did not pass"
    return Finding(
        name="evaluation", state="missing", told=told, mend="see what is said above, then look there"
    )

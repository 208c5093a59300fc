from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from click.testing import CliRunner

from engine import host
from engine.cli.doctor import doctor
from engine.diagnosis import (
    GIB,
    Finding,
    check_certificates,
    check_cgroups,
    check_client,
    check_disk,
    check_proxies,
    check_uv,
    check_version,
    findings,
)
from engine.sandbox.launch import CERTIFICATE_VARIABLES
from engine.sandbox.probe import DaemonFacts, held_of


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's own settings is looked at."""
    for name in (*CERTIFICATE_VARIABLES, "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("version", "state"),
    [("28.2.1", "fine"), ("20.10.24+dfsg1", "fine"), ("19.3.1", "missing"), ("dev", "warning")],
)
def test_old_daemons_are_refused(version: str, state: str) -> None:
    """A daemon must be new enough; of one that does not say, nobody knows."""
    assert check_version(DaemonFacts(server_version=version)).state == state


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        (DaemonFacts(cgroup_version="2"), "fine"),
        (DaemonFacts(swap_limit=False), "warning"),
        (DaemonFacts(memory_limit=False, swap_limit=False), "missing"),
        (DaemonFacts(pids_limit=False), "missing"),
    ],
)
def test_kernels_without_limits_are_refused(facts: DaemonFacts, state: str) -> None:
    """Limits that the kernel does not have would be limits in name only."""
    assert check_cgroups(facts).state == state


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Little room has a command that makes some; the folder need not be there yet."""
    assert check_disk("disk", tmp_path / "not" / "yet", "clean").state == "fine"
    monkeypatch.setattr(host, "disk_free", lambda _path: GIB)
    found = check_disk("disk", tmp_path, "scbench clean")
    assert (found.state, found.mend) == ("missing", "scbench clean")


def test_missing_certificates_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle that is set and not there, or that is none, would break every download."""
    assert [one.state for one in check_certificates()] == ["fine"]
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    assert [(one.state, "SSL_CERT_FILE" in one.mend) for one in check_certificates()] == [("missing", True)]
    (tmp_path / "none.pem").write_text("not a certificate")
    assert [one.state for one in check_certificates()] == ["missing"]


def test_one_bundle_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five variables with one file are one finding."""
    for name in CERTIFICATE_VARIABLES:
        monkeypatch.setenv(name, str(tmp_path / "none.pem"))
    assert len(list(check_certificates())) == 1


def test_passwords_of_proxies_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a proxy one sees its host and port."""
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@proxy.example:3128")
    (found,) = check_proxies()
    assert found == Finding(name="proxy", state="fine", told="HTTPS_PROXY is proxy.example:3128")


@pytest.mark.parametrize("address", ["http://localhost:3128", "127.0.0.1:3128"])
def test_a_proxy_on_this_machine_is_out_of_reach(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container `localhost` is somebody else."""
    monkeypatch.setenv("HTTP_PROXY", address)
    (found,) = check_proxies()
    assert found.state == "warning"
    assert "3128" in found.mend


@pytest.mark.parametrize("check", [check_client, lambda: check_uv("riscv64")])
def test_what_is_not_needed_by_all_is_a_warning(
    check: Callable[[], Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing client or another processor is told, and stops nobody."""
    monkeypatch.setenv("PATH", "")
    found = check()
    assert found.state == "warning"
    assert found.mend


def test_a_probe_that_died_proves_nothing() -> None:
    """Only a complete answer of the container counts."""
    assert held_of(b"") is None
    assert held_of(b'{"memory": true}') is None
    complete = b'noise\n{"memory":true,"pids":true,"disk":true,"cpu":true,"network":true,"root":false}\n'
    held = held_of(complete)
    assert held is not None
    assert not held.root


def test_no_daemon_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a daemon the exit code is 3, and everything else is still looked at."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    result = CliRunner().invoke(doctor, [])
    assert result.exit_code == 3
    assert "missing daemon: no Docker daemon answers" in result.output
    assert "mend it: start the daemon at" in result.output
    assert "disk for results" in result.output


@pytest.mark.docker
def test_a_machine_that_works_is_fine(image: str) -> None:
    """On a machine with Docker every limit holds in a real container."""

    async def examine() -> list[Finding]:
        return [finding async for finding in findings(image)]

    found = anyio.run(examine)
    assert [finding for finding in found if finding.state == "missing"] == []
    assert "limits" in [finding.name for finding in found]


@pytest.mark.docker
def test_an_image_that_is_not_here_is_a_warning() -> None:
    """It would be pulled, so it is no obstacle yet; the command that pulls it is told."""
    result = CliRunner().invoke(doctor, ["--image", "scbench-nowhere:none"])
    assert result.exit_code == 0, result.output
    assert "mend it: docker pull scbench-nowhere:none" in result.output

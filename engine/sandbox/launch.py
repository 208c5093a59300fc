"""What every sandbox tells its launcher: where things are, who is who, and what the job says."""

import functools
import io
import os
import secrets
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from engine.results import Broken, BrokenKind
from engine.sandbox import Archive, Job, Preparation, Prepared, Run
from engine.sandbox.wire import REPORT_LIMIT, Transcript

# Settings of this machine that a preparation needs to reach a package index.
FORWARDED = (
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_HTTP_TIMEOUT"),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"),
)
CERTIFICATE_VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
)


class Paths(msgspec.Struct, frozen=True, kw_only=True):
    """Where things are inside a sandbox."""

    workspace: str
    environment: str
    temporary: str
    home: str
    scratch: str
    toolchain: str
    uv: str
    certificates: str

    @property
    def grader_python(self) -> str:
        """The interpreter that has the test toolchain."""
        return f"{self.toolchain}/tools/pytest/bin/python"


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who the submission is, and the grader's group; `isolate` is false where these are not taken."""

    isolate: bool
    uid: int = 0
    gid: int = 0
    grader_gid: int = 0


def submission_environment(paths: Paths, base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of whatever runs as the submission."""
    return {
        **base,
        "PATH": ":".join((f"{paths.environment}/bin", paths.uv, base.get("PATH", os.defpath))),
        "VIRTUAL_ENV": paths.environment,
        "HOME": paths.home,
        "USER": "submission",
        "LOGNAME": "submission",
        "TMPDIR": paths.temporary,
        "LANG": base.get("LANG", "C.UTF-8"),
        "UV_CACHE_DIR": f"{paths.temporary}/uv-cache",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_LINK_MODE": "copy",
    }


def evaluation_header(job: Job, paths: Paths, who: Identity, base: Mapping[str, str]) -> dict[str, object]:
    """Return what the launcher must know to run one evaluation."""
    return {
        "task": "evaluate",
        "nonce": secrets.token_hex(16),
        **msgspec.structs.asdict(who),
        "paths": paths,
        "mode": job.mode,
        "sealed": job.sealed and job.mode != "uvx",
        "collect_only": job.collect_only,
        "test_files": job.test_files,
        "only": job.only,
        "hidden": job.hidden,
        "entrypoint": job.entrypoint,
        "checkpoint": job.checkpoint,
        "assets": job.assets,
        "plugins": job.toolchain.plugins,
        "requirements": job.requirements,
        "limits": job.limits,
        "report_limit": REPORT_LIMIT,
        # A configuration of uv in the workspace must not choose where pytest comes from.
        "index": {**index_environment(paths), "UV_NO_CONFIG": "1"} if job.mode == "uvx" else {},
        "env": {**submission_environment(paths, base), "UV_OFFLINE": "1", **dict(job.env)},
    }


def preparation_header(
    preparation: Preparation, paths: Paths, who: Identity, base: Mapping[str, str], *, send: bool
) -> dict[str, object]:
    """Return what the launcher must know to make a toolchain or an environment."""
    env = submission_environment(paths, base) | index_environment(paths)
    if preparation.kind == "toolchain":
        env |= {"UV_TOOL_DIR": f"{paths.toolchain}/tools", "UV_TOOL_BIN_DIR": f"{paths.toolchain}/bin"}
    else:
        env |= {"UV_PROJECT_ENVIRONMENT": paths.environment, "UV_VENV_CLEAR": "1"}
    return {
        "task": "prepare",
        "nonce": secrets.token_hex(16),
        **msgspec.structs.asdict(who),
        "paths": paths,
        "kind": preparation.kind,
        "python": preparation.python,
        "requirements": preparation.requirements,
        "commands": preparation.commands,
        "constraints": preparation.constraints,
        "timeout": preparation.timeout,
        "send": send,
        "env": {**env, "UV_COMPILE_BYTECODE": "1", **dict(preparation.env)},
    }


def index_environment(paths: Paths) -> dict[str, str]:
    """Return the variables by which uv and pip reach a package index from inside."""
    env = {name: os.environ[name] for name in FORWARDED if os.environ.get(name)}
    if certificate_bundle() is not None:
        env |= dict.fromkeys(CERTIFICATE_VARIABLES, f"{paths.certificates}/certificates.pem")
    return env


def certificate_bundle() -> Path | None:
    """Return the bundle that this machine was told to trust, where it was told so."""
    path = os.environ.get("SSL_CERT_FILE") or os.environ.get("REQUESTS_CA_BUNDLE")
    return Path(path) if path and Path(path).is_file() else None


def certificate_archives() -> tuple[Archive, ...]:
    """Return the certificate bundle as an archive, where there is one."""
    bundle = certificate_bundle()
    if bundle is None:
        return ()
    data = archive_of({"certificates.pem": (bundle.read_bytes(), 0o644)}.items())
    return (Archive(name="certificates", data=data),)


@functools.cache
def uv_archive(folder: Path) -> Archive:
    """Return the uv programs in a folder as an archive."""
    names = [name for name in ("uv", "uvx") if (folder / name).is_file()]
    return Archive(
        name="uv", data=archive_of((name, ((folder / name).read_bytes(), 0o755)) for name in names)
    )


def archive_of(files: Iterable[tuple[str, tuple[bytes, int]]]) -> bytes:
    """Return a tar of small files given as (name, (content, mode))."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, (content, mode) in files:
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), mode
            archive.addfile(member, io.BytesIO(content))
    return target.getvalue()


def run_of(transcript: Transcript, broken: Broken | None) -> Run:
    """Return what a launcher has said, and why it did not end by itself, as one value."""
    return Run(
        broken=broken or _trouble(transcript),
        end=transcript.end,
        collected=transcript.collected,
        phases=tuple(transcript.phases),
        reports=transcript.reports,
        stdout=transcript.output(b"o"),
        stderr=transcript.output(b"e"),
        timings=dict(transcript.end.timings) if transcript.end else {},
        cpu=transcript.end.cpu if transcript.end else transcript.cpu,
    )


def _trouble(transcript: Transcript) -> Broken | None:
    if transcript.too_large and not transcript.reports:
        # What a report holds comes from failing tests, which show what the submission printed.
        largest = max(transcript.too_large.values())
        return Broken.of(BrokenKind.OUT_OF_DISK, f"the report has {largest} bytes, more than may be sent")
    if transcript.garbled is not None:
        return Broken.of(BrokenKind.TAMPERED, f"something spoke in the grader's name: {transcript.garbled}")
    if transcript.end is not None:
        return None
    outcome = transcript.outcome
    said = outcome.error if outcome and outcome.error else "the launcher ended without its last word"
    return Broken.of(BrokenKind.DAEMON_ERROR, said)


def prepared_of(preparation: Preparation, transcript: Transcript) -> Prepared | Broken:
    """Turn what a launcher said of a preparation into the thing or the reason why there is none."""
    outcome = transcript.outcome
    toolchain = preparation.kind == "toolchain"
    if outcome is not None and outcome.failed is not None:
        kind = BrokenKind.TOOLCHAIN_UNRESOLVABLE if toolchain else BrokenKind.SETUP_FAILED
        if outcome.outcome == "timeout":
            kind = BrokenKind.TOOLCHAIN_UNRESOLVABLE if toolchain else BrokenKind.SETUP_TIMEOUT
        return Broken.of(kind, f"{outcome.failed}: {outcome.outcome}\n{outcome.output.strip()[-2000:]}")
    if outcome is None or outcome.error or transcript.end is None:
        said = outcome.error if outcome and outcome.error else "it ended without its last word"
        return Broken.of(BrokenKind.DAEMON_ERROR, f"while preparing: {said}")
    return Prepared(
        kind=preparation.kind,
        key=preparation.key,
        versions=outcome.versions,
        plugins=outcome.plugins,
        python=outcome.python,
    )

"""The shape of containers: what the daemon is asked for, as plain values."""

from collections.abc import Mapping

from engine.sandbox import Job, Preparation
from engine.sandbox.launch import Identity, Paths
from engine.sandbox.wire import launcher_command

Config = dict[str, object]

PATHS = Paths(
    workspace="/workspace",
    environment="/workspace/.venv",
    temporary="/tmp",  # noqa: S108 - in the container, where it is a filesystem of its own
    home="/tmp/home",  # noqa: S108
    scratch="/scbench",
    toolchain="/opt/scbench",
    uv="/opt/scbench/uv",
    certificates="/tmp/certificates",  # noqa: S108
)
# The launcher makes the submission's files and processes, and ends the latter; it needs nothing else of root.
CAPABILITIES = ("CHOWN", "SETUID", "SETGID", "KILL")
SCRATCH_SIZE = 1 << 30
TOOLCHAIN_SIZE = 4 << 30
# Waits until the engine is gone, and has a network of its own meanwhile.
KEEPER = "import sys; sys.stdin.read()"


def volume_name(kind: str, key: str) -> str:
    """Name the volume of a prepared thing."""
    return f"scbench-{kind}-{key[:32]}"


def evaluation_config(job: Job, who: Identity, network: str, cpus: float) -> Config:
    """Return the container of one evaluation."""
    resources = job.resources
    host: Config = {
        "NetworkMode": network,
        "Memory": resources.memory,
        "MemorySwap": resources.memory,
        "NanoCpus": int(min(resources.cpus, cpus) * 1e9),
        "PidsLimit": resources.pids,
        "ShmSize": resources.shared_memory,
        "Ulimits": [{"Name": "nofile", "Soft": resources.open_files, "Hard": resources.open_files}],
        "Tmpfs": {
            PATHS.workspace: tmpfs(resources.disk, f"mode=755,uid={who.uid},gid={who.gid}"),
            PATHS.temporary: tmpfs(resources.disk, "mode=1777"),
            PATHS.scratch: tmpfs(SCRATCH_SIZE, "mode=711"),
        },
        "Mounts": [
            volume_mount(volume_name("toolchain", job.toolchain.key), PATHS.toolchain),
            volume_mount(volume_name("environment", job.environment.key), PATHS.environment),
        ],
    }
    return container_config(job.image, launcher_command(PATHS.grader_python), job.runtime, host)


def preparation_config(preparation: Preparation, who: Identity) -> Config:
    """Return the container of one preparation: with a network, without tests or volumes."""
    resources = preparation.resources
    size = TOOLCHAIN_SIZE if preparation.kind == "toolchain" else resources.disk
    memory = resources.memory + 2 * size  # files in a tmpfs count as memory
    host: Config = {
        "NetworkMode": "bridge",
        "Memory": memory,
        "MemorySwap": memory,
        "PidsLimit": max(resources.pids, 256),
        "ShmSize": resources.shared_memory,
        "Ulimits": [{"Name": "nofile", "Soft": 4096, "Hard": 4096}],
        "Tmpfs": {
            PATHS.workspace: tmpfs(size, f"mode=755,uid={who.uid},gid={who.gid}"),
            PATHS.temporary: tmpfs(size, "mode=1777"),
            PATHS.toolchain: tmpfs(TOOLCHAIN_SIZE, "mode=755"),
        },
    }
    return container_config(
        preparation.image, launcher_command(preparation.python), preparation.runtime, host
    )


def keeper_config(image: str, python: str) -> Config:
    """Return the container that keeps an empty network ready: joining one costs half of making one."""
    host: Config = {"NetworkMode": "none", "Memory": 64 << 20, "PidsLimit": 8}
    return container_config(image, [python, "-I", "-S", "-c", KEEPER], None, host) | {"User": "65534:65534"}


def volume_filler_config(image: str, volume: str, labels: Mapping[str, str]) -> Config:
    """Return a container that is never started: files are copied through it into a new volume."""
    mount = volume_mount(volume, "/prepared", read_only=False)
    mount["VolumeOptions"] = {"NoCopy": True, "Labels": dict(labels)}
    return {
        "Image": image,
        "Entrypoint": ["/"],
        "HostConfig": {"Mounts": [mount], "NetworkMode": "none"},
    }


def container_config(image: str, command: list[str], runtime: str | None, host: Config) -> Config:
    """Return what all containers have in common, with what one of them needs laid over it."""
    return {
        "Image": image,
        "Entrypoint": command,
        "Cmd": [],
        "User": "0:0",
        "WorkingDir": "/",
        # With StdinOnce the end of the engine is the end of standard input, which ends the container.
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": {
            "AutoRemove": True,
            "ReadonlyRootfs": True,
            "CapDrop": ["ALL"],
            "CapAdd": list(CAPABILITIES),
            "SecurityOpt": ["no-new-privileges"],
            "LogConfig": {"Type": "none"},
            **({"Runtime": runtime} if runtime else {}),
            **host,
        },
    }


def tmpfs(size: int, options: str) -> str:
    """Return the options of a folder in memory, limited in size and in the number of files."""
    return f"rw,exec,nosuid,nodev,size={size},nr_inodes={max(size // 4096, 4096)},{options}"


def volume_mount(name: str, target: str, *, read_only: bool = True) -> Config:
    """Return the mount of a volume."""
    return {
        "Type": "volume",
        "Source": name,
        "Target": target,
        "ReadOnly": read_only,
        "VolumeOptions": {"NoCopy": True},
    }

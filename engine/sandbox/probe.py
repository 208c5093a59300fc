"""Does the daemon do what it is asked for? What it says of itself, and a container that tries the limits."""

import msgspec

from engine.sandbox.containers import PATHS, Config, container_config, tmpfs

MEMORY = 64 << 20
PIDS = 24
DISK = 1 << 20

# Runs in a container with these limits, tries to go beyond each, and prints which of them held.
PROGRAM = f"""
import json, os, signal
held = {{}}
child = os.fork()
if not child:
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")
    taken = bytearray({4 * MEMORY})
    for place in range(0, len(taken), 4096):
        taken[place] = 1
    os._exit(0)
held["memory"] = os.waitpid(child, 0)[1] != 0
children = []
try:
    while len(children) < {4 * PIDS}:
        child = os.fork()
        if not child:
            signal.pause()
        children.append(child)
    held["pids"] = False
except OSError:
    held["pids"] = True
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
def refused(path, size):
    try:
        with open(path, "wb") as target:
            target.write(bytes(size))
    except OSError:
        return True
    return False
held["disk"] = refused("{PATHS.temporary}/large", {4 * DISK})
held["root"] = refused("/scbench-probe", 1)
with open("/proc/net/dev") as source:
    held["network"] = not [line for line in source.readlines()[2:] if line.split(":")[0].strip() != "lo"]
try:
    with open("/sys/fs/cgroup/cpu.max") as source:
        held["cpu"] = source.read().split()[0] != "max"
except OSError:
    with open("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") as source:
        held["cpu"] = int(source.read()) > 0
print(json.dumps(held))
"""


class DaemonFacts(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """What a daemon says of itself, as far as it matters here."""

    server_version: str = ""
    operating_system: str = ""
    architecture: str = ""
    driver: str = ""
    docker_root_dir: str = ""
    cgroup_version: str = ""
    cgroup_driver: str = ""
    memory_limit: bool = True
    swap_limit: bool = True
    pids_limit: bool = True
    cpu_cfs_quota: bool = True
    security_options: tuple[str, ...] | None = ()


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Which limits held in a real container."""

    memory: bool
    pids: bool
    disk: bool
    cpu: bool
    network: bool
    root: bool


def probe_config(image: str, python: str) -> Config:
    """Return the container that tries its limits."""
    host: Config = {
        "NetworkMode": "none",
        "Memory": MEMORY,
        "MemorySwap": MEMORY,
        "NanoCpus": 500_000_000,
        "PidsLimit": PIDS,
        "Tmpfs": {PATHS.temporary: tmpfs(DISK, "mode=1777")},
    }
    return container_config(image, [python, "-I", "-S", "-c", PROGRAM], None, host)


def held_of(said: bytes) -> Held | None:
    """Read what the program printed; None where it did not come to its end."""
    try:
        return msgspec.json.decode(said.strip().rpartition(b"\n")[2], type=Held)
    except msgspec.DecodeError:
        return None

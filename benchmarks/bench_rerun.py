"""How quickly an unchanged batch is answered from the store.

    python -m benchmarks.bench_rerun [EVALUATIONS]

One evaluation really runs; its result is stored for all equal ones, and the whole batch is then run
through the engine as a user would run it, with journal, result lines and a folder for each evaluation.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import anyio
import msgspec

from benchmarks.trivial import lay_out
from engine.batch import Batch, BatchOptions, Summary
from engine.evaluation import fingerprint
from engine.foresight import recorded_versions
from engine.locks import Locks
from engine.manifest import load_manifests
from engine.paths import state_folder
from engine.plan import expand
from engine.problem import load_problem
from engine.sandbox.choice import open_sandbox
from engine.store import Store, StoreKey
from engine.treehash import TreeHasher

SUBMISSIONS = 100


def write_manifest(folder: Path, image: str, evaluations: int) -> Path:
    """Write a manifest with so many evaluations."""
    lay_out(folder, SUBMISSIONS)
    manifest = folder / "manifest.json"
    document = {
        "version": 1,
        "problems": {"path": "problems"},
        "environment": {"image": image},
        "submissions": [{"path": "submissions/{model}/{problem}/{checkpoint}"}],
        "repeat": max(1, evaluations // SUBMISSIONS),
        "output": "runs",
        "concurrency": 8,
    }
    manifest.write_bytes(msgspec.json.encode(document))
    return manifest


async def fill_store(manifest: Path, image: str) -> None:
    """Run one evaluation and store its result for all others."""
    loaded = load_manifests([manifest])
    first = next(expand(loaded))
    options = BatchOptions(select=(f"trivial/checkpoint_1/{dict(first.labels)['model']}",))
    summary = await Batch(load_manifests([_once(manifest)]), options).run()
    assert summary.counts.passed, summary
    async with open_sandbox("docker") as sandbox:
        digest = await sandbox.known_digest(image)
    assert digest is not None
    store, locks = Store(state_folder() / "results"), Locks(state_folder() / "locks")
    problem = load_problem(Path(first.problem_path))
    with TreeHasher() as hasher:
        versions = recorded_versions(first, problem, digest, locks, hasher)
        assert versions is not None
        key = StoreKey(fingerprint=fingerprint(first, versions, hasher, problem))
    results = store.get(key)
    assert results is not None
    for index in range(loaded.parts[0].repeat):
        store.put(StoreKey(fingerprint=key.fingerprint, repeat_index=index), results)


def _once(manifest: Path) -> Path:
    document = msgspec.json.decode(manifest.read_bytes())
    path = manifest.with_name("once.json")
    path.write_bytes(msgspec.json.encode(document | {"repeat": 1}))
    return path


async def rerun(manifest: Path) -> Summary:
    """Run the whole batch, all of it from the store."""
    return await Batch(load_manifests([manifest])).run()


def main() -> None:
    """Print how many evaluations a second were answered."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    image = os.environ["SCBENCH_IMAGE"]
    with tempfile.TemporaryDirectory(prefix="scbench-bench-") as name:
        os.environ["XDG_STATE_HOME"] = f"{name}/state"
        manifest = write_manifest(Path(name), image, count)
        anyio.run(fill_store, manifest, image)
        for _ in range(2):
            started, cpu = time.monotonic(), time.process_time()
            summary = anyio.run(rerun, manifest)
            seconds, used = time.monotonic() - started, time.process_time() - cpu
            total = summary.counts.passed
            assert summary.counts.cached == total, summary
            print(
                f"{total} evaluations: {total / seconds:,.0f} a second, {1e3 * used / total:.2f} ms CPU each"
            )


if __name__ == "__main__":
    main()

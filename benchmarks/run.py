"""Run all benchmarks, one after the other."""

import subprocess
import sys

NAMES = ("bench_decode", "bench_scheduler", "bench_rerun", "bench_overhead", "bench_batch")


def main() -> None:
    """Run each in a process of its own, so that none leaves memory to the next."""
    for name in NAMES:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


if __name__ == "__main__":
    main()

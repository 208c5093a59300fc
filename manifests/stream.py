"""Write one evaluation a line for every sample: a stand-in for any program that produces submissions.

python manifests/stream.py | scbench run --base manifests/stream.yaml -
"""

import json
import sys
from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"


def main() -> None:
    """Write the lines, each as soon as it is known."""
    for snapshot in sorted(SAMPLES.glob("*/*/*/snapshot")):
        model, problem, checkpoint = snapshot.relative_to(SAMPLES).parts[:3]
        line = {
            "problem": problem,
            "checkpoint": checkpoint,
            "submission": str(snapshot),
            "labels": {"model": model},
        }
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""The record of files that earlier builds made."""
import json
import os

RECORD_NAME = ".pagemill.json"


def load_record(output: str) -> list[str]:
    try:
        with open(os.path.join(output, RECORD_NAME), encoding="utf-8") as handle:
            data = json.load(handle)
    except (OSError, ValueError):
        return []
    if not isinstance(data, list):
        return []
    return [name for name in data if isinstance(name, str) and ".." not in name.split("/")]


def save_record(output: str, names: list[str]) -> None:
    with open(os.path.join(output, RECORD_NAME), "w", encoding="utf-8") as handle:
        json.dump(sorted(names), handle, indent=2)


def remove_stale(output: str, names: list[str]) -> list[str]:
    """Remove files that are no longer made and return those that existed."""
    removed = []
    for name in sorted(names):
        path = os.path.join(output, *name.split("/"))
        if not os.path.isfile(path):
            continue
        os.remove(path)
        removed.append(name)
        folder = os.path.dirname(path)
        while folder != output and not os.listdir(folder):
            os.rmdir(folder)
            folder = os.path.dirname(folder)
    return removed

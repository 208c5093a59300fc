"""Makes `README.md` from the cases: `python -m tests.hostile.table`."""

from tests.hostile.collection import HERE, Case, load_all

README = HERE / "README.md"
HEAD = """\
# Submissions that cheat or attack

Made from the `case.yaml` files by `python -m tests.hostile.table`; a test checks that it is up to date.

Each folder below `cases/` is one submission. `test_hostile.py` runs all of them on a real Docker Engine
beside an honest neighbour that needs what the kernel counts by user: the verdict is what an honest grader
gives, nothing that is hidden comes out, and the neighbour passes. `test_plain_runner.py` shows what a case
wins against a runner in the seeds' way, where that can be shown. `test_mutations.py` switches off one
defence after another, and a case is no longer stopped.

A case that still gets what it wants says so (`open_hole`), and its test expects to fail until that is mended.

| case | tries | what stops it | against a plain runner |
| --- | --- | --- | --- |
"""
GAINS = {
    "passed": "passes",
    "escaped": "is not counted",
    "spoils": "sees or does what it must not",
    "hung": "hangs it",
    "host_file": "overwrites a file of the host",
}


def row(case: Case) -> str:
    """Return the line of one case."""
    stopped = f"**open:** {case.open_hole}" if case.open_hole else case.stopped_by
    plain = GAINS[case.gains] if case.wins_against_plain else case.plain.removeprefix("cannot be shown: ")
    cells = (
        f"`{case.name}`",
        case.tries,
        stopped,
        plain if case.wins_against_plain else f"not shown: {plain}",
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def table() -> str:
    """Return the whole text."""
    return HEAD + "".join(map(row, load_all()))


if __name__ == "__main__":
    README.write_text(table(), encoding="utf-8")

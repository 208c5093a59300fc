"""Everything raised on purpose.

    EngineError                  exit code 70 unless a subclass says otherwise
    +-- UserError           2    what the user wrote is wrong: manifest, options, problem, environment
    |   +-- DocumentError   2    one or more places in files, each with line, column and advice
    +-- SandboxUnavailable  3    no daemon, or one that does not answer
    +-- OutputUnwritable    3    results cannot be written: disk full, read-only, gone

Outcomes that are expected of evaluations (a set-up that fails, a container that runs out of memory)
are not here: they are `results.Broken` values.
"""

import msgspec


class EngineError(Exception):
    """The base of everything that the engine raises on purpose."""

    exit_code = 70


class UserError(EngineError):
    """The user can mend this; the message says how."""

    exit_code = 2


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One mistake in a document: where it is, what is wrong and what to do."""

    file: str
    line: int
    column: int
    message: str
    hint: str = ""
    source: str = ""

    def __str__(self) -> str:
        lines = [f"{self.file}:{self.line}:{self.column}: {self.message}"]
        if self.source:
            lines += [f"    {self.source}", f"    {' ' * (self.column - 1)}^"]
        if self.hint:
            lines.append(f"    {self.hint}")
        return "\n".join(lines)


class DocumentError(UserError):
    """Mistakes in what the user wrote, all of them at once."""

    def __init__(self, places: tuple[Place, ...]) -> None:
        super().__init__("\n".join(map(str, places)))
        self.places = places


class SandboxUnavailable(EngineError):
    """Nothing can run here now: no daemon, or one that does not answer."""

    exit_code = 3


class OutputUnwritable(EngineError):
    """Results cannot be written, so nothing more is run; what was written before is complete."""

    exit_code = 3

    def __init__(self, path: str, error: OSError) -> None:
        super().__init__(
            f"{path}: cannot write: {error.strerror or error}\n"
            "Nothing that was written before is lost. Mend this and go on with --resume."
        )
        self.path = path

"""Which tests a checkpoint has: collected without a submission, twice, and kept."""

import msgspec

from engine.integrity import expected_ids
from engine.problem import ProblemConfig
from engine.sandbox import Job, Progress, Sandbox


class Expectations:
    """The expected ids of every checkpoint that was asked for."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def of(self, job: Job, problem: ProblemConfig, checkpoint: str) -> tuple[str, ...] | None:
        """Return the ids to expect, None where that is not known."""
        return None

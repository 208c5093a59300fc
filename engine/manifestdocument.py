"""A manifest as it stands in a file: what `scbench schema manifest` publishes.

A new key is a field here, with a default that a careful person would choose, and a line in
`engine/manifest.py` that resolves it.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.environment import EnvironmentDocument, NonEmpty, ResourcesDocument, Scalar
from engine.quantities import Duration, DurationOrOff

PolicyName = Literal[
    "core-cases",
    "all-core-cases",
    "any-core-cases",
    "all-cases",
    "all-non-error-cases",
    "any-case",
    "any",
]
AtLeastOne = Annotated[int, Meta(ge=1, le=1_000_000)]
Count = Annotated[int, Meta(ge=0, le=1000)]
Names = Annotated[tuple[NonEmpty, ...], Meta(min_length=1, description="Names or globs.")]
# A name below `environments`, the path of a file, or the environment itself.
EnvironmentReference = NonEmpty | EnvironmentDocument


class ProblemsDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which problems there are."""

    path: NonEmpty
    include: Names = ("*",)
    exclude: tuple[NonEmpty, ...] = ()


class SubmissionsDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Submissions found by a path template; every placeholder becomes a label."""

    path: NonEmpty
    labels: dict[NonEmpty, Scalar] = {}
    problem: NonEmpty | None = None
    checkpoint: NonEmpty | None = None
    environment: NonEmpty | None = None


class EvaluationDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One evaluation, said outright; also one line of standard input."""

    problem: NonEmpty
    checkpoint: NonEmpty
    submission: NonEmpty
    labels: dict[NonEmpty, Scalar] = {}
    environment: NonEmpty | None = None


class MatrixDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything is evaluated once for each of these."""

    environment: Annotated[tuple[EnvironmentReference, ...], Meta(min_length=1)]


class ConcurrencyDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much happens at once."""

    batch: AtLeastOne | Literal["auto"] = "auto"
    per_problem: AtLeastOne | None = None
    per_label: dict[NonEmpty, AtLeastOne] = {}
    prepare: AtLeastOne = 2


class TimeoutsDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Time limits, inner ones first."""

    command: DurationOrOff | None = None
    test: Duration | None = None
    session: Duration | None = None
    setup: Duration | None = None
    evaluation: Duration | None = None
    batch: DurationOrOff | None = None


class RetriesDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is tried again when it could not be judged."""

    infrastructure: Count = 2
    timeouts: Literal["alone", "never"] = "alone"


class ManifestDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to evaluate, under what, and how."""

    version: Literal[1]
    problems: NonEmpty | ProblemsDocument
    name: NonEmpty | None = None
    include: NonEmpty | tuple[NonEmpty, ...] = ()
    checkpoints: Names = ("*",)
    environment: EnvironmentReference | None = None
    environments: dict[NonEmpty, EnvironmentReference] = {}
    submissions: tuple[SubmissionsDocument, ...] = ()
    evaluations: tuple[EvaluationDocument, ...] = ()
    policy: PolicyName = "core-cases"
    repeat: AtLeastOne = 1
    matrix: MatrixDocument | None = None
    concurrency: AtLeastOne | Literal["auto"] | ConcurrencyDocument = "auto"
    timeouts: TimeoutsDocument = TimeoutsDocument()
    retries: RetriesDocument = RetriesDocument()
    resources: ResourcesDocument = ResourcesDocument()
    output: NonEmpty = "runs"

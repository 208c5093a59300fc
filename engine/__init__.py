"""An async batch evaluation engine with declarative manifests.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.batch import Batch, BatchOptions, run_batch
    from engine.environment import EnvironmentSpec, Limits
    from engine.environmentfile import load_environment
    from engine.problem import CheckpointConfig, ProblemConfig, load_problem
    from engine.results import CorrectnessResults, GroupType, TestResult, Verdict
    from engine.runner import PytestRunner, run_checkpoint_pytest

_HOMES = {
    "Batch": "engine.batch",
    "BatchOptions": "engine.batch",
    "CheckpointConfig": "engine.problem",
    "CorrectnessResults": "engine.results",
    "EnvironmentSpec": "engine.environment",
    "GroupType": "engine.results",
    "Limits": "engine.environment",
    "ProblemConfig": "engine.problem",
    "PytestRunner": "engine.runner",
    "TestResult": "engine.results",
    "Verdict": "engine.results",
    "load_environment": "engine.environmentfile",
    "load_problem": "engine.problem",
    "run_batch": "engine.batch",
    "run_checkpoint_pytest": "engine.runner",
}

__all__ = [
    "Batch",
    "BatchOptions",
    "CheckpointConfig",
    "CorrectnessResults",
    "EnvironmentSpec",
    "GroupType",
    "Limits",
    "ProblemConfig",
    "PytestRunner",
    "TestResult",
    "Verdict",
    "load_environment",
    "load_problem",
    "run_batch",
    "run_checkpoint_pytest",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

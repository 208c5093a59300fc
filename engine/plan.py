"""Manifest and problems to evaluations, one by one.

`expand` is lazy: the first evaluation of a hundred thousand is there at once. `check_plan` goes through all
of them and tells every mistake. What an evaluation is stands in `engine/evaluation.py`.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from engine.catalogue import Catalogue
from engine.environment import Limits, Scalar, exact_text
from engine.errors import DocumentError, Place, UserError
from engine.evaluation import Evaluation, Identity, Labels, Versions, fingerprint
from engine.manifest import Manifest, Part
from engine.mistakes import nearest, nearest_file, shown_path
from engine.positions import Keys
from engine.problem import ProblemConfig
from engine.quantities import spoken_duration
from engine.templates import Template, explain_no_match, find_matches, parse_template
from engine.yamlfile import Layers

# Nobody reads more mistakes than this at once.
MOST_PLACES = 200

__all__ = ["Evaluation", "Versions", "check_plan", "expand", "fingerprint", "walk_plan"]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A submission and the checkpoint it is for, before environments and repeats."""

    problem: str
    checkpoint: str
    submission: str
    # The submission as the manifest has it, so that ids do not depend on where the tree lies.
    written: str
    labels: Labels
    environment: str | None
    # Where it was asked for.
    layers: Layers
    keys: Keys
    # Found by a template, not said outright.
    found: bool = False


def expand(manifest: Manifest, select: tuple[str, ...] = ()) -> Iterator[Evaluation]:
    """Give the evaluations one by one; raise DocumentError with all mistakes on meeting the first."""
    wanted = _selection(select)
    given = False
    items = walk_plan(manifest)
    for item in items:
        if isinstance(item, Place):
            raise DocumentError(_limited([item, *(one for one in items if isinstance(one, Place))]))
        if not select or wanted(item):
            given = True
            yield item
    if select and not given:
        raise UserError(f"nothing fits --select {' '.join(select)}; `scbench plan` shows what there is")


def walk_plan(manifest: Manifest) -> Iterator[Evaluation | Place]:
    """Go through everything that the manifest asks for: evaluations, and mistakes in their place."""
    seen: set[str] = set()
    for part in manifest.parts:
        yield from _items(part, seen)


def check_plan(manifest: Manifest) -> tuple[Place, ...]:
    """Go through all evaluations and return every mistake."""
    return _limited([item for item in walk_plan(manifest) if isinstance(item, Place)])


def _limited(places: list[Place]) -> tuple[Place, ...]:
    if len(places) <= MOST_PLACES:
        return tuple(places)
    last = places[MOST_PLACES]
    more = msgspec.structs.replace(
        last, message=f"and {len(places) - MOST_PLACES} more mistakes, of which this is the first", hint=""
    )
    return (*places[:MOST_PLACES], more)


def _selection(patterns: tuple[str, ...]) -> Callable[[Evaluation], bool]:
    split = [tuple(pattern.strip("/").split("/")) for pattern in patterns]

    def wanted(evaluation: Evaluation) -> bool:
        return any(_fits(evaluation, parts) for parts in split)

    return wanted


def _fits(evaluation: Evaluation, parts: tuple[str, ...]) -> bool:
    """`problem/checkpoint/label`, or one word that fits any of them; a label as VALUE or KEY=VALUE."""
    labels = [text for key, value in evaluation.labels for text in (value, f"{key}={value}")]
    if len(parts) == 1:
        names = [evaluation.problem_name, evaluation.checkpoint, evaluation.id, *labels]
        return any(fnmatchcase(name, parts[0]) for name in names)
    problem, checkpoint, *wanted = parts
    return (
        fnmatchcase(evaluation.problem_name, problem)
        and fnmatchcase(evaluation.checkpoint, checkpoint)
        and all(any(fnmatchcase(label, one) for label in labels) or one == "*" for one in wanted)
    )


def _items(part: Part, seen: set[str]) -> Iterator[Evaluation | Place]:
    """The evaluations of one manifest, and the mistakes that are met on the way."""
    expansion = Expansion(part)
    mistakes = list(expansion.mistakes_of_filters())
    yield from mistakes
    # Without problems every submission would be told to have none.
    for request in expansion.requests() if not mistakes else ():
        if isinstance(request, Place):
            yield request
            continue
        for evaluation in expansion.evaluations(request):
            if isinstance(evaluation, Evaluation) and evaluation.id in seen:
                message = f"the same evaluation twice: {evaluation.id}"
                yield request.layers.place(request.keys, message, "remove one, or tell them apart by a label")
                continue
            if isinstance(evaluation, Evaluation):
                seen.add(evaluation.id)
            yield evaluation
    yield from expansion.mistakes_at_end()


def exact_labels(
    layers: Layers, keys: Keys, written: Mapping[str, Scalar], found: Mapping[str, str] = MappingProxyType({})
) -> Labels:
    """Labels as sorted text; what is written wins over what a template found."""
    said = {name: exact_text(layers, (*keys, name), value) for name, value in written.items()}
    return tuple(sorted({**found, **said}.items()))


class _Target(NamedTuple):
    """A checkpoint that submissions are evaluated against."""

    problem: ProblemConfig
    limits: Limits


class _Wrong(NamedTuple):
    """What is wrong with a request, and which of its fields."""

    field: str
    message: str
    hint: str


_UNSEEN = _Wrong("", "", "")


def _missing_submission(path: Path) -> _Wrong:
    if path.exists():
        return _Wrong("submission", f"{shown_path(path)} is not a folder", "name the folder that it is in")
    return _Wrong("submission", f"{shown_path(path)} does not exist", nearest_file(path))


class Expansion:
    """One manifest while it is expanded: what was read of its problems, and what was met so far."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._catalogue = Catalogue(part.problems)
        self._told = 0
        self._told_found: set[tuple[Keys, tuple[str, str]]] = set()
        self._targets: dict[tuple[str, str], _Target | None] = {}
        self._met: set[str] = set()
        self._checkpoints: set[str] = set()
        self._environments = {**part.environments, **{spec.name: spec for spec in part.matrix}}

    def mistakes_of_filters(self) -> Iterator[Place]:
        """What is wrong before anything is expanded: no problems, or names that are nowhere."""
        problems, place = self._part.problems, self._part.layers.place
        names = self._catalogue.folder_names()
        if not names:
            path = Path(problems.path)
            if path.is_dir():
                message, hint = (
                    f"no problem is in {shown_path(path)}",
                    "each is a folder with config.yaml and tests/",
                )
            else:
                message, hint = f"there is no folder {shown_path(path)}", nearest_file(path)
            yield place(self._problems_keys(), message, hint)
            return
        for index, pattern in enumerate(problems.include):
            if not any(fnmatchcase(name, pattern) for name in names):
                yield place(
                    ("problems", "include", index), f"`{pattern}` fits no problem", nearest(pattern, names)
                )

    def _problems_keys(self) -> Keys:
        whole = self._part.layers.get(("problems",))
        return ("problems", "path") if isinstance(whole, dict) else ("problems",)

    def requests(self) -> Iterator[Request | Place]:
        """Every submission that the manifest names or finds."""
        for index in range(len(self._part.submissions)):
            yield from self._found(index)
        folder = self._part.layers.origin(("evaluations",))
        for index, entry in enumerate(self._part.evaluations):
            keys: Keys = ("evaluations", index)
            yield Request(
                problem=entry.problem,
                checkpoint=entry.checkpoint,
                submission=folder.resolve(entry.submission),
                written=entry.submission,
                labels=exact_labels(self._part.layers, (*keys, "labels"), entry.labels),
                environment=entry.environment,
                layers=self._part.layers,
                keys=keys,
            )

    def _found(self, index: int) -> Iterator[Request | Place]:
        rule = self._part.submissions[index]
        keys: Keys = ("submissions", index)
        template = parse_template(rule.path)
        folder = self._part.layers.origin((*keys, "path")).resolve(".")
        matches = 0
        for match in find_matches(template, folder):
            matches += 1
            values = dict(match.values)
            yield Request(
                problem=rule.problem or values.pop("problem"),
                checkpoint=rule.checkpoint or values.pop("checkpoint"),
                submission=match.path,
                written=match.path.removeprefix(f"{folder}/"),
                labels=exact_labels(self._part.layers, (*keys, "labels"), rule.labels, values),
                environment=rule.environment,
                layers=self._part.layers,
                keys=(*keys, "path"),
                found=True,
            )
        if not matches:
            yield self._part.layers.place((*keys, "path"), *self._no_match(template, folder))

    def _no_match(self, template: Template, folder: str) -> tuple[str, str]:
        return "no folder fits this template", explain_no_match(template, folder)

    def evaluations(self, request: Request) -> Iterator[Evaluation | Place]:
        """One evaluation for each environment and repeat, or the mistake that keeps it from being one."""
        key = (request.problem, request.checkpoint)
        target = self._targets.get(key, _UNSEEN)
        if target is _UNSEEN:
            target = self._find_target(*key)
            yield from self._new_mistakes()
            # Names that are wrong are not remembered: a stream may bring any number of them.
            if not isinstance(target, _Wrong):
                self._targets[key] = target
        if isinstance(target, _Wrong):
            # What a template finds again and again is told once.
            if not request.found or (request.keys, key) not in self._told_found:
                self._told_found.add((request.keys, key))
                yield self._place(request, target)
        elif target is not None:
            # Not pathlib, which would take most of the time of a hundred thousand.
            if os.path.isdir(request.submission):  # noqa: PTH112
                yield from self._variants(request, target)
            else:
                yield self._place(request, _missing_submission(Path(request.submission)))

    def _find_target(self, problem_name: str, checkpoint: str) -> _Target | _Wrong | None:
        """What a submission is up against; None where it is filtered out or its problem is wrong."""
        catalogue = self._catalogue
        if not catalogue.knows(problem_name):
            message = f"there is no problem `{problem_name}` in {shown_path(self._part.problems.path)}"
            return _Wrong("problem", message, nearest(problem_name, catalogue.folder_names()))
        if not catalogue.is_selected(problem_name):
            return None
        problem = catalogue.get(problem_name)
        if problem is None:
            return None
        names = [one.name for one in problem.checkpoints]
        self._checkpoints.update(names)
        if checkpoint not in names:
            message = f"problem `{problem.name}` has no checkpoint `{checkpoint}`"
            return _Wrong("checkpoint", message, nearest(checkpoint, names))
        if not self._is_wanted(checkpoint):
            return None
        return self._limited_target(problem, checkpoint)

    def _limited_target(self, problem: ProblemConfig, checkpoint: str) -> _Target | None:
        session, test = self._part.timeouts.session, problem.timeout_for(checkpoint)
        if test is not None and session is not None and test > session:
            message = (
                f"`session` ({spoken_duration(session)}) is below the limit of one test"
                f" ({spoken_duration(test)}) that {problem.name}/{checkpoint} asks for"
            )
            place = self._part.layers.place(("timeouts", "session"), message, "raise `session`")
            self._catalogue.mistakes.append(place)
            return None
        return _Target(problem, self._part.timeouts.limits(test))

    def _new_mistakes(self) -> Iterator[Place]:
        while self._told < len(self._catalogue.mistakes):
            yield self._catalogue.mistakes[self._told]
            self._told += 1

    def _place(self, request: Request, wrong: _Wrong) -> Place:
        if not request.found:
            return request.layers.place((*request.keys, wrong.field), wrong.message, wrong.hint)
        message = f"{wrong.message} (found as {shown_path(request.submission)})"
        return request.layers.place(request.keys, message, wrong.hint)

    def _is_wanted(self, checkpoint: str) -> bool:
        for pattern in self._part.checkpoints:
            if fnmatchcase(checkpoint, pattern):
                self._met.add(pattern)
                return True
        return False

    def mistakes_at_end(self) -> Iterator[Place]:
        """Names in `checkpoints` that were met nowhere."""
        for index, pattern in enumerate(self._part.checkpoints):
            if pattern not in self._met and pattern != "*":
                message = f"`{pattern}` fits no checkpoint that there is a submission for"
                hint = nearest(pattern, self._checkpoints)
                yield self._part.layers.place(("checkpoints", index), message, hint)

    def _variants(self, request: Request, target: _Target) -> Iterator[Evaluation]:
        problem = target.problem
        named = (self._environments[request.environment],) if request.environment else self._part.matrix
        for environment in named:
            for repeat in range(self._part.repeat):
                identity = Identity(
                    manifest=self._part.name,
                    problem=problem.name,
                    checkpoint=request.checkpoint,
                    submission=request.written,
                    labels=request.labels,
                    environment=environment.name,
                    repeat_index=repeat,
                )
                yield Evaluation(
                    id=identity.id(),
                    problem_name=problem.name,
                    problem_path=str(problem.path),
                    checkpoint=request.checkpoint,
                    submission=request.submission,
                    environment=environment,
                    limits=target.limits,
                    labels=request.labels,
                    repeat_index=repeat,
                )

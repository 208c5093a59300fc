"""What to evaluate: one or more manifests, resolved.

`load_manifests` follows includes, finds environments, makes paths absolute and checks that limits do not
contradict each other. Nothing here looks at problems or submissions: that is `engine/plan.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from engine.environment import EnvironmentSpec, Limits
from engine.environmentfile import is_scbench_form, parse_environment
from engine.errors import DocumentError, Place, UserError
from engine.manifestdocument import (
    ConcurrencyDocument,
    EvaluationDocument,
    ManifestDocument,
    ProblemsDocument,
    SubmissionsDocument,
    TimeoutsDocument,
)
from engine.mistakes import Tree, nearest, nearest_file, shown_path
from engine.positions import Keys
from engine.quantities import seconds, spoken_duration
from engine.sources import NOTHING_GIVEN, Given, layers_of
from engine.templates import TemplateError, parse_template
from engine.yamlfile import Collected, Document, Layers, convert, convert_what_fits, read

MANIFEST_ENDINGS = (".yaml", ".yml", ".json")
_DEFAULTS = Limits()


class Concurrency(msgspec.Struct, frozen=True, kw_only=True):
    """How much happens at once; `auto` fits the machine."""

    batch: int | Literal["auto"] = "auto"
    per_problem: int | None = None
    per_label: Mapping[str, int] = {}
    prepare: int = 2


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Time limits in seconds as far as a manifest says them; None for what it leaves open."""

    command: float | None = None
    test: float | None = None
    session: float | None = None
    setup: float | None = None
    evaluation: float | None = None
    batch: float | None = None

    def limits(self, test: float | None) -> Limits:
        """The limits of one evaluation; those left open are wide enough for those that are said."""
        test = test or self.test or _DEFAULTS.test
        setup = self.setup or _DEFAULTS.setup
        session = self.session or max(_DEFAULTS.session, test)
        evaluation = self.evaluation or max(_DEFAULTS.evaluation, setup + session + test)
        return Limits(command=self.command, test=test, session=session, setup=setup, evaluation=evaluation)


class Retries(msgspec.Struct, frozen=True, kw_only=True):
    """What is tried again when it could not be judged."""

    infrastructure: int = 2
    timeouts: Literal["alone", "never"] = "alone"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What one manifest asks for, resolved; `layers` tells where each value was written."""

    name: str
    problems: ProblemsDocument
    checkpoints: tuple[str, ...]
    # Everything is evaluated in each of these, except what names an environment of its own.
    matrix: tuple[EnvironmentSpec, ...]
    environments: Mapping[str, EnvironmentSpec]
    submissions: tuple[SubmissionsDocument, ...]
    evaluations: tuple[EvaluationDocument, ...]
    repeat: int
    timeouts: Timeouts
    layers: Layers

    def folder(self, *keys: str | int) -> str:
        """The folder that a path written at these keys is relative to."""
        return str(self.layers.origin(keys).folder)


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """One batch: the parts that share its limits."""

    name: str
    parts: tuple[Part, ...]
    policy: str = "core-cases"
    concurrency: Concurrency = Concurrency()
    timeouts: Timeouts = Timeouts()
    retries: Retries = Retries()
    output: str = "runs"
    warnings: tuple[str, ...] = ()


def load_base(source: Path | None, given: Given = NOTHING_GIVEN) -> Manifest:
    """Read what lines of standard input fall back on; it need not ask for any evaluation itself."""
    if source is None and given.problems is None:
        raise UserError("where are the problems? say --base MANIFEST or --problems DIR")
    nothing = Document.of({"version": 1, "name": "lines"}, name="command line", folder=Path.cwd())
    layers = layers_of(source or nothing, given)
    written = convert(_without_scbench_forms(layers), ManifestDocument)
    part = _part(layers, written, given)
    places = tuple(_contradictions([(layers, written)]))
    if places:
        raise DocumentError(places)
    return _combined([part], [(layers, written)])


def load_manifests(sources: Sequence[Path | Document], given: Given = NOTHING_GIVEN) -> Manifest:
    """Read manifests and run directories into one batch; raise DocumentError with all that is wrong."""
    manifest, places = load_what_fits(sources, given)
    if places or manifest is None:
        raise DocumentError(places)
    return manifest


def load_what_fits(
    sources: Sequence[Path | Document], given: Given = NOTHING_GIVEN
) -> tuple[Manifest | None, tuple[Place, ...]]:
    """Read as much as can be understood, and tell everything that cannot."""
    if not sources:
        raise UserError("no manifest: name a file, or a run directory together with --problems")
    collected = Collected()
    pairs, parts = [], []
    for source in sources:
        layers = collected.attempt(layers_of, source, given)
        if layers is None:
            continue
        written, places = convert_what_fits(_without_scbench_forms(layers), ManifestDocument)
        collected.places += [*places, *(_nothing_asked(layers, written) if not places else ())]
        if written is not None:
            pairs.append((layers, written))
            part = collected.attempt(_part, layers, written, given)
            parts += [part] if part else []
    collected.places += _contradictions(pairs)
    complete = len(parts) == len(sources)
    return _combined(parts, pairs) if complete else None, tuple(dict.fromkeys(collected.places))


def _nothing_asked(layers: Layers, written: ManifestDocument | None) -> Iterator[Place]:
    if written and not written.submissions and not written.evaluations:
        message = "nothing to evaluate: neither `submissions` nor `evaluations`"
        yield layers.place((), message, "add one of them")


def _without_scbench_forms(layers: Layers) -> Layers:
    if not isinstance(layers.tree, dict):
        return layers
    return layers.with_tree({key: _blanked(key, value) for key, value in layers.tree.items()})


def _blanked(key: str, value: Tree) -> Tree:
    if key == "environments" and isinstance(value, dict):
        return {name: {} if is_scbench_form(one) else one for name, one in value.items()}
    if key == "matrix" and isinstance(value, dict):
        axis = value.get("environment")
        if isinstance(axis, list):
            return {**value, "environment": [{} if is_scbench_form(one) else one for one in axis]}
    return {} if key == "environment" and is_scbench_form(value) else value


def _part(layers: Layers, written: ManifestDocument, given: Given) -> Part:
    collected = Collected()
    finder = _Environments(layers, written, given)
    environments = collected.attempt(finder.named) or {}
    matrix = collected.attempt(finder.chosen, environments)
    collected.places += _template_places(layers, written)
    collected.places += _reference_places(layers, written, environments)
    collected.raise_all()
    problems = written.problems
    if isinstance(problems, str):
        problems = ProblemsDocument(path=problems)
    keys: Keys = ("problems", "path") if isinstance(written.problems, ProblemsDocument) else ("problems",)
    absolute = layers.origin(keys).resolve(problems.path)
    return Part(
        name=_name(layers, written),
        problems=msgspec.structs.replace(problems, path=absolute),
        checkpoints=written.checkpoints,
        matrix=matrix or (),
        environments=environments,
        submissions=written.submissions,
        evaluations=written.evaluations,
        repeat=written.repeat,
        timeouts=_timeouts(written.timeouts),
        layers=layers,
    )


def _name(layers: Layers, written: ManifestDocument) -> str:
    own = [document for document in layers.documents if document.name != "command line"]
    return written.name or Path(own[-1].name).stem


class _Environments:
    """Finds environments by name, by file, or where they stand."""

    def __init__(self, layers: Layers, written: ManifestDocument, given: Given) -> None:
        self._layers = layers
        self._written = written
        self._variables = given.environ()

    def named(self) -> dict[str, EnvironmentSpec]:
        """Those below `environments`."""
        collected, found = Collected(), {}
        for name, one in self._written.environments.items():
            keys: Keys = ("environments", name)
            spec = collected.attempt(self._resolve, keys, name, one, {})
            if spec is not None:
                found[name] = msgspec.structs.replace(spec, name=name)
        collected.raise_all()
        return found

    def chosen(self, named: Mapping[str, EnvironmentSpec]) -> tuple[EnvironmentSpec, ...]:
        """Those that everything is evaluated in: the matrix, else the one environment."""
        if self._written.matrix is None:
            return (self._only(named),)
        collected = Collected()
        found: list[EnvironmentSpec] = []
        for index, one in enumerate(self._written.matrix.environment):
            keys: Keys = ("matrix", "environment", index)
            spec = collected.attempt(self._resolve, keys, f"matrix-{index}", one, named)
            if spec is not None and spec.name in [other.name for other in found]:
                message = f"two environments called `{spec.name}`"
                collected.places.append(self._layers.place(keys, message, "remove one, or name it otherwise"))
            found += [spec] if spec is not None else []
        collected.raise_all()
        return tuple(found)

    def _only(self, named: Mapping[str, EnvironmentSpec]) -> EnvironmentSpec:
        if self._written.environment is not None:
            return self._resolve(("environment",), "default", self._written.environment, named)
        if len(named) > 1:
            names = ", ".join(sorted(named))
            place = self._layers.place(("environments",), f"which of {names}?", "add `environment: NAME`")
            raise DocumentError((place,))
        if named:
            return next(iter(named.values()))
        return parse_environment(Layers([self._nothing()]), (), "default", self._written.resources)

    def _nothing(self) -> Document:
        return Document.of({}, name="default", folder=Path.cwd())

    def _resolve(
        self, keys: Keys, name: str, written: object, named: Mapping[str, EnvironmentSpec]
    ) -> EnvironmentSpec:
        if not isinstance(written, str):
            return parse_environment(self._layers, keys, name, self._written.resources)
        if written in named:
            return named[written]
        if written.endswith(MANIFEST_ENDINGS) or "/" in written:
            return self._from_file(keys, written)
        hint = nearest(written, self._written.environments)
        message = f"there is no environment `{written}` below `environments`"
        raise DocumentError((self._layers.place(keys, message, hint or "define it, or name a file"),))

    def _from_file(self, keys: Keys, name: str) -> EnvironmentSpec:
        path = self._layers.origin(keys).folder / name
        if not path.is_file():
            message = f"no such file: {shown_path(path)}"
            raise DocumentError((self._layers.place(keys, message, nearest_file(path)),))
        document = Layers([read(path, self._variables)])
        return parse_environment(document, (), path.stem, self._written.resources)


def _template_places(layers: Layers, written: ManifestDocument) -> Iterator[Place]:
    for index, rule in enumerate(written.submissions):
        keys: Keys = ("submissions", index, "path")
        try:
            placeholders = parse_template(rule.path).placeholders
        except TemplateError as error:
            yield layers.place(keys, str(error), error.hint)
            continue
        for name, said in (("problem", rule.problem), ("checkpoint", rule.checkpoint)):
            if name not in placeholders and said is None:
                hint = f"put {{{name}}} into the path, or add `{name}: NAME` beside it"
                yield layers.place(keys, f"the template does not say the {name}", hint)
            if name in placeholders and said is not None:
                hint = f"remove `{name}`, or {{{name}}} from the path"
                yield layers.place(keys, f"the {name} is said twice", hint)


def _reference_places(
    layers: Layers, written: ManifestDocument, environments: Mapping[str, EnvironmentSpec]
) -> Iterator[Place]:
    references = [
        (("submissions", index, "environment"), one.environment)
        for index, one in enumerate(written.submissions)
    ] + [
        (("evaluations", index, "environment"), one.environment)
        for index, one in enumerate(written.evaluations)
        if one.environment is not None
    ]
    for keys, name in references:
        if name is not None and name not in written.environments:
            message = f"there is no environment `{name}` below `environments`"
            yield layers.place(keys, message, nearest(name, environments))


def _timeouts(written: TimeoutsDocument) -> Timeouts:
    said = {name: getattr(written, name) for name in written.__struct_fields__}
    return Timeouts(**{name: seconds(one) for name, one in said.items() if one not in (None, "off")})


# Each limit holds the ones before it.
_NESTED = (
    ("test", "session"),
    ("command", "test"),
    ("session", "evaluation"),
    ("setup", "evaluation"),
    ("evaluation", "batch"),
)


def _contradictions(pairs: Sequence[tuple[Layers, ManifestDocument]]) -> Iterator[Place]:
    for layers, written in pairs:
        timeouts = _timeouts(written.timeouts)
        for inner, outer in _NESTED:
            small, large = getattr(timeouts, inner), getattr(timeouts, outer)
            if small is not None and large is not None and small > large:
                message = (
                    f"`{inner}` ({spoken_duration(small)}) is above `{outer}` ({spoken_duration(large)}),"
                    f" which holds it"
                )
                yield layers.place(("timeouts", inner), message, f"lower `{inner}` or raise `{outer}`")
    policies = {written.policy for _, written in pairs}
    if len(policies) > 1:
        layers = pairs[-1][0]
        message = f"manifests of one batch with different policies: {', '.join(sorted(policies))}"
        yield layers.place(("policy",), message, "run them one by one, or write the same policy in all")


def _combined(parts: Sequence[Part], pairs: Sequence[tuple[Layers, ManifestDocument]]) -> Manifest:
    """One batch of all parts; where they differ in what they share, the last that says it wins."""

    def last(key: str) -> tuple[Layers, ManifestDocument]:
        saying = [pair for pair in pairs if isinstance(pair[0].tree, dict) and key in pair[0].tree]
        return saying[-1] if saying else pairs[-1]

    layers, document = last("output")
    written_output = isinstance(layers.tree, dict) and "output" in layers.tree
    origin = layers.origin(("output",)) if written_output else Document.of({}, name="", folder=Path.cwd())
    environments = [spec for part in parts for spec in (*part.environments.values(), *part.matrix)]
    return Manifest(
        name="+".join(dict.fromkeys(part.name for part in parts)),
        parts=tuple(parts),
        policy=last("policy")[1].policy,
        concurrency=_concurrency(last("concurrency")[1].concurrency),
        timeouts=_timeouts(last("timeouts")[1].timeouts),
        retries=msgspec.convert(msgspec.to_builtins(last("retries")[1].retries), Retries),
        output=origin.resolve(document.output),
        warnings=tuple(dict.fromkeys(warning for spec in environments for warning in spec.warnings)),
    )


def _concurrency(written: int | str | ConcurrencyDocument) -> Concurrency:
    said = written if isinstance(written, ConcurrencyDocument) else {"batch": written}
    return msgspec.convert(msgspec.to_builtins(said), Concurrency)

"""The folder of one run: what comes out, under names that people and scripts rely on."""

import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from ruamel.yaml import YAML

from engine.errors import OutputUnwritable, UserError
from engine.events import ResultLine, encode
from engine.results import Output

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,100}")


class Outputs(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluation printed and reported."""

    stdout: Output
    stderr: Output
    reports: Mapping[str, bytes]


class RunDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """Where everything about one run is."""

    path: Path
    run_id: str

    @classmethod
    def create(cls, output: Path, run_id: str | None) -> "RunDirectory":
        """Make the folder of a new run; raise UserError where its name is taken or cannot be one."""
        chosen = run_id or f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        if not _RUN_ID.fullmatch(chosen):
            raise UserError(f"--run-id {chosen}: letters, digits, dots, dashes and underscores only")
        directory = cls(path=output / chosen, run_id=chosen)
        if directory.journal.exists():
            raise UserError(
                f"run {chosen} exists already in {output}\nGo on with it by --resume {chosen}, "
                "or choose another --run-id."
            )
        try:
            (directory.path / "evaluations").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputUnwritable(str(directory.path), error) from error
        return directory

    @classmethod
    def find(cls, output: Path, run: str) -> "RunDirectory":
        """Find an earlier run by its id, by its folder, or as the `last` one."""
        if run == "last":
            found = sorted(output.glob("*/events.jsonl"), key=lambda path: path.stat().st_mtime)
            if not found:
                raise UserError(f"there is no run in {output}")
            return cls(path=found[-1].parent, run_id=found[-1].parent.name)
        for path in (output / run, Path(run)):
            # Killed before its first event, a run has a folder and no journal yet.
            if (path / "events.jsonl").is_file() or (path / "evaluations").is_dir():
                return cls(path=path, run_id=path.resolve().name)
        raise UserError(f"there is no run {run} in {output}")

    @property
    def journal(self) -> Path:
        """The file of everything that happened."""
        return self.path / "events.jsonl"

    @property
    def results(self) -> Path:
        """The file of results, one line an evaluation."""
        return self.path / "results.jsonl"

    def evaluation(self, evaluation_id: str) -> Path:
        """The folder of one evaluation."""
        return self.path / "evaluations" / evaluation_id

    def write_manifest(self, trees: list[object]) -> None:
        """Keep the manifests as they were resolved."""
        yaml = YAML(typ="safe", pure=True)
        yaml.default_flow_style = False
        path = self.path / "manifest.yaml"
        try:
            with path.open("w", encoding="utf-8") as target:
                yaml.dump_all(trees, target)
        except OSError as error:
            raise OutputUnwritable(str(path), error) from error

    def write_evaluation(self, line: ResultLine, request: object, outputs: Outputs | None) -> None:
        """Keep everything about one evaluation, with what was asked for, to repeat it. Blocks."""
        folder = self.evaluation(line.id)
        document = encode(line)[:-1] + b',"request":' + msgspec.json.encode(request) + b"}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if outputs is not None:
                _write_outputs(folder, outputs)
            _replace(folder / "evaluation.json", msgspec.json.format(document, indent=2) + b"\n")
        except OSError as error:
            raise OutputUnwritable(str(folder), error) from error

    def write_summary(self, summary: object) -> None:
        """Keep the summary of the run."""
        data = msgspec.json.format(msgspec.json.encode(summary), indent=2)
        path = self.path / "summary.json"
        try:
            path.write_bytes(data + b"\n")
        except OSError as error:
            raise OutputUnwritable(str(path), error) from error


def _write_outputs(folder: Path, outputs: Outputs) -> None:
    (folder / ".scbench").mkdir(exist_ok=True)
    for name, data in outputs.reports.items():
        (folder / ".scbench" / name).write_bytes(data)
    (folder / "stdout.txt").write_text(outputs.stdout.text(), "utf-8")
    (folder / "stderr.txt").write_text(outputs.stderr.text(), "utf-8")


def _replace(path: Path, data: bytes) -> None:
    """Write a file; one that is there already stays whole until the new one is."""
    if not path.exists():
        path.write_bytes(data)
        return
    temporary = path.with_name(f"{path.name}.partial")
    temporary.write_bytes(data)
    temporary.replace(path)

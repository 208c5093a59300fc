import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import msgspec
import pytest
import structlog
from structlog.typing import EventDict, WrappedLogger

from engine.errors import OutputUnwritable
from engine.events import (
    EvaluationFinished,
    EvaluationStarted,
    Event,
    PlanCompleted,
    ResultLine,
    WarningGiven,
    decode,
    decode_result,
)
from engine.results import Verdict
from engine.sinks import JsonLines, JsonLinesSettings, RotatingFile, Stream, open_output

LINE = ResultLine(
    run_id="r",
    id="a",
    problem_name="p",
    checkpoint_name="c",
    verdict=Verdict.PASSED,
    policy="core-cases",
    duration=1.0,
)
EVENTS: tuple[Event, ...] = (
    PlanCompleted(run_id="r", total=1),
    EvaluationStarted(run_id="r", evaluation_id="a", labels={"model": "m"}),
    EvaluationFinished(run_id="r", evaluation_id="a", result=LINE),
)


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def newest_first(path: Path) -> list[bytes]:
    count = len(list(path.parent.iterdir()))
    files = [path, *(Path(f"{path}.{number}") for number in range(1, count))]
    return [file.read_bytes() for file in files]


async def write(path: Path, settings: JsonLinesSettings, *events: Event) -> list[bytes]:
    sink = JsonLines(await open_output(str(path)), settings)
    assert await sink.write(events)
    await sink.aclose()
    return lines(path)


async def test_events_are_written_as_they_are(tmp_path: Path) -> None:
    """Every event is one line, in order, that reads back as the same event."""
    written = await write(tmp_path / "new" / "e.jsonl", JsonLinesSettings(level="debug"), *EVENTS)
    assert [decode(line) for line in written] == list(EVENTS)
    assert written[0].startswith(b'{"event":"plan_completed","schema_version":1,"timestamp":')


async def test_levels_below_the_chosen_one_are_left_out(tmp_path: Path) -> None:
    """A sink writes what is at least as important as its level."""
    warning = WarningGiven(run_id="r", name="n", message="m")
    written = await write(tmp_path / "e.jsonl", JsonLinesSettings(level="warning"), *EVENTS, warning)
    assert [decode(line) for line in written] == [warning]


async def test_results_alone_can_be_written(tmp_path: Path) -> None:
    """A sink for results writes result lines and nothing else."""
    written = await write(tmp_path / "r.jsonl", JsonLinesSettings(content="results"), *EVENTS)
    assert [decode_result(line) for line in written] == [LINE]
    assert "event" not in msgspec.json.decode(written[0])


async def test_processors_may_add_take_away_and_drop(tmp_path: Path) -> None:
    """Processors of structlog's own kind run before a line is written."""

    def without_labels(_logger: WrappedLogger, _method: str, fields: EventDict) -> EventDict:
        if fields["event"] == "evaluation_finished":
            raise structlog.DropEvent
        del fields["labels"]
        return {**fields, "host": "h"}

    settings = JsonLinesSettings(processors=(without_labels,))
    (line,) = await write(tmp_path / "e.jsonl", settings, *EVENTS)
    fields = msgspec.json.decode(line)
    assert (fields["host"], "labels" in fields) == ("h", False)


async def test_names_that_are_not_unicode_are_spelled_out(tmp_path: Path) -> None:
    """A lone surrogate in a message does not stop the stream."""
    warning = WarningGiven(run_id="r", name="n", message="a\udcff")
    (line,) = await write(tmp_path / "e.jsonl", JsonLinesSettings(), warning)
    assert msgspec.json.decode(line)["message"] == "a\\udcff"


async def test_files_are_appended_to(tmp_path: Path) -> None:
    """A resumed run goes on where the file ends."""
    path = tmp_path / "e.jsonl"
    await write(path, JsonLinesSettings(), EVENTS[1])
    assert len(await write(path, JsonLinesSettings(), EVENTS[2])) == 2


async def test_rotation_keeps_lines_whole_and_in_order(tmp_path: Path) -> None:
    """When a file is full it makes room; no line is divided and none is lost."""
    path = tmp_path / "e.jsonl"
    output = RotatingFile(path, rotate_at=100, keep=50)
    texts = [f"{number:040}\n".encode() for number in range(60)]
    for start in range(0, 60, 7):
        await output.write(b"".join(texts[start : start + 7]))
    await output.aclose()
    contents = newest_first(path)
    assert b"".join(reversed(contents)) == b"".join(texts)
    assert {len(content) for content in contents} == {82}


async def test_rotation_keeps_so_many_files(tmp_path: Path) -> None:
    """The oldest files go."""
    output = RotatingFile(tmp_path / "e.jsonl", rotate_at=10, keep=2)
    for number in range(6):
        await output.write(f"line {number}\n".encode())
    await output.aclose()
    assert newest_first(tmp_path / "e.jsonl") == [b"line 5\n", b"line 4\n", b"line 3\n"]


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for descriptor in (reader, writer):
        try:
            os.close(descriptor)
        except OSError:
            continue


async def test_a_reader_that_went_away_is_no_error(pipe: tuple[int, int]) -> None:
    """After a pipe is closed, writing says so, quietly, for good."""
    reader, writer = pipe
    sink = JsonLines(Stream(writer, "pipe"), JsonLinesSettings())
    assert await sink.write(EVENTS)
    os.close(reader)
    assert not await sink.write(EVENTS)
    assert not await sink.write(EVENTS)
    await sink.aclose()


async def test_a_slow_reader_is_waited_for_and_loses_nothing(pipe: tuple[int, int]) -> None:
    """More than a pipe holds arrives whole, however slowly it is read."""
    reader, writer = pipe
    data = b"".join(b"%06d\n" % number for number in range(50_000))
    received = bytearray()
    async with anyio.create_task_group() as group:
        group.start_soon(Stream(writer, "pipe").write, data)
        while len(received) < len(data):
            await anyio.wait_readable(reader)
            received += os.read(reader, 10_000)
    assert received == data


async def test_waiting_for_a_stuck_reader_can_be_cancelled(pipe: tuple[int, int]) -> None:
    """A reader that has stopped reading does not keep the engine from ending."""
    with anyio.move_on_after(0.05) as scope:
        await Stream(pipe[1], "pipe").write(b"x" * 1_000_000)
    assert scope.cancelled_caught


@pytest.mark.parametrize("target", ["/dev/full", "folder"])
async def test_what_cannot_be_written_is_told(tmp_path: Path, target: str) -> None:
    """A full disk or a path that is no file stops the run with a message."""

    async def attempt() -> None:
        output = await open_output(target if target == "/dev/full" else str(tmp_path))
        await output.write(b"line\n")

    with pytest.raises(OutputUnwritable, match="cannot write"):
        await attempt()


async def test_a_named_pipe_can_be_the_target(tmp_path: Path) -> None:
    """A path that is a named pipe is written to as a stream."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    output = await open_output(str(path))
    assert await output.write(b"line\n")
    assert os.read(reader, 100) == b"line\n"
    os.close(reader)
    assert not await output.write(b"line\n")
    await output.aclose()


def test_standard_output_ends_quietly_when_its_reader_does() -> None:
    """`scbench ... | head -n 1` leaves no traceback and the engine learns of it."""
    program = (
        "import sys, anyio\n"
        "from engine.events import WarningGiven\n"
        "from engine.sinks import JsonLines, JsonLinesSettings, open_output\n"
        "async def main():\n"
        "    sink = JsonLines(await open_output('-'), JsonLinesSettings())\n"
        "    while await sink.write([WarningGiven(run_id='r', name='n', message='m')]):\n"
        "        pass\n"
        "    await sink.aclose()\n"
        "    sys.stderr.write('drained')\n"
        "anyio.run(main)\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert decode(process.stdout.readline()) is not None
        process.stdout.close()
        assert process.stderr.read() == b"drained"
    assert process.returncode == 0

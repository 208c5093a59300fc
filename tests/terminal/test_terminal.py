"""What people see of `scbench run`, in a real pseudo-terminal, with real evaluations in the local sandbox."""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.docker.tiny import GREETS, HELLO, write_files, write_problem
from tests.terminal.screen import Terminal

SCBENCH = str(Path(sys.executable).with_name("scbench"))
QUICK = 3
HELD = 2
# Says hello only once a file is there, so that a test decides how long an evaluation takes.
WAITS = """
import pathlib, time
while not pathlib.Path({release!r}).exists():
    time.sleep(0.02)
print("hello")
"""

Open = Callable[..., Terminal]


@pytest.fixture(scope="module")
def module_folders(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Mapping[str, str]:
    """Folders that all of these tests share: the toolchain is prepared once."""
    return {"XDG_STATE_HOME": str(tmp_path_factory.mktemp("state")), "XDG_CACHE_HOME": str(shared_cache)}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """The file that lets held evaluations go on."""
    return tmp_path / "release"


@pytest.fixture
def manifest(tmp_path: Path, release: Path) -> Path:
    """A batch of quick evaluations and of some that wait."""
    write_problem(tmp_path / "problems" / "greeting", GREETS, timeout=120)
    # No two are alike: equal evaluations would wait for each other.
    for number in range(QUICK):
        write_files(tmp_path / "submissions" / f"quick-{number}", {"main.py": f"{HELLO}# {number}\n"})
    for number in range(HELD):
        source = WAITS.format(release=str(release))
        write_files(tmp_path / "submissions" / f"waiting-{number}", {"main.py": f"{source}# {number}\n"})
    settings = {
        "version": 1,
        "name": "greetings",
        "problems": "problems",
        "environments": {"here": {"sandbox": "local"}},
        "environment": "here",
        "submissions": [{"path": "submissions/{model}", "problem": "greeting", "checkpoint": "checkpoint_1"}],
        "output": "runs",
    }
    target = tmp_path / "manifest.json"
    target.write_text(json.dumps(settings))
    return target


@pytest.fixture
def open_terminal(module_folders: Mapping[str, str]) -> Iterator[Open]:
    """Open terminals, and close them afterwards."""
    opened: list[Terminal] = []
    clean = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")
    }

    def opening(command: list[str], columns: int = 80, **variables: str) -> Terminal:
        opened.append(Terminal(command, columns, {**clean, **module_folders, **variables}))
        return opened[-1]

    yield opening
    for terminal in opened:
        terminal.close()


@pytest.fixture
def command(manifest: Path) -> list[str]:
    """The command that runs the batch, all of it at once."""
    return [SCBENCH, "run", str(manifest), "--concurrency", str(QUICK + HELD), "--no-cache"]


def is_held(text: str) -> bool:
    """Tell whether everything that can end has ended."""
    return f"{QUICK}/{QUICK + HELD}" in text and text.count("tests ") >= HELD


def result_lines(manifest: Path) -> list[str]:
    (results,) = manifest.parent.glob("runs/*/results.jsonl")
    return results.read_text().splitlines()


@pytest.mark.parametrize("columns", [80, 200])
def test_a_run_is_watched_live(columns: int, command: list[str], open_terminal: Open, release: Path) -> None:
    """Bar, counts, machine and a line for each running evaluation; then a clean screen with the result."""
    terminal = open_terminal(command, columns)
    lines = terminal.until(is_held).splitlines()
    bar = next(line for line in lines if line.startswith("greetings"))
    assert re.search(r"━.* 3/5  \S+/(s|min)  \S+ left, ends \d\d:\d\d$", bar)
    assert "3 passed  0 failed  0 broken  0 cached  0 flaky  2 running" in lines
    assert any(re.match(r"load [\d.]+ on \d+ cores, \d+% of memory free", line) for line in lines)
    rows = [line for line in lines if "waiting-" in line]
    assert [re.sub(r"\d+s of", "Ns of", row.split("waiting-")[1]).split() for row in sorted(rows)] == [
        [str(number), "tests", "0/1", "Ns", "of", "20m00s"] for number in range(HELD)
    ]
    assert all(len(line) <= columns for line in lines)
    release.touch()
    assert terminal.end() == 0
    assert "Leaderboard" in terminal.text
    assert "5 passed, 0 failed, 0 broken" in terminal.text
    assert "Ns of" not in terminal.text
    assert " of 20m00s" not in terminal.text
    assert "━" not in terminal.text
    assert terminal.is_as_it_was()


def test_ctrl_c_drains(command: list[str], open_terminal: Open, release: Path, manifest: Path) -> None:
    """The first Ctrl-C says that the run is coming to its end; what runs is finished and kept."""
    terminal = open_terminal(command)
    terminal.until(is_held)
    terminal.press("\x03")
    text = terminal.until(lambda text: "nothing more is started, a second signal ends them" in text)
    assert text.count("greetings") == 1, "the echo of Ctrl-C has torn the display"
    release.touch()
    assert terminal.end() == 130
    assert terminal.is_as_it_was()
    assert len(result_lines(manifest)) == QUICK + HELD
    assert "━" not in terminal.text


def test_a_second_ctrl_c_ends_at_once(command: list[str], open_terminal: Open, manifest: Path) -> None:
    """Whoever presses Ctrl-C twice does not wait, and has the terminal back."""
    terminal = open_terminal(command)
    terminal.until(is_held)
    terminal.press("\x03")
    terminal.until(lambda text: "nothing more is started" in text)
    terminal.press("\x03")
    assert terminal.end(30.0) == 130
    assert terminal.is_as_it_was()
    assert "Traceback" not in terminal.text
    assert "--resume" in terminal.text


def test_sigterm_drains(command: list[str], open_terminal: Open, release: Path) -> None:
    """A polite end from outside leaves the terminal as it was."""
    terminal = open_terminal(command)
    terminal.until(is_held)
    terminal.process.send_signal(signal.SIGTERM)
    terminal.until(lambda text: "nothing more is started" in text)
    release.touch()
    assert terminal.end() == 143
    assert terminal.is_as_it_was()


def test_a_closed_window_loses_nothing(
    command: list[str], open_terminal: Open, release: Path, manifest: Path
) -> None:
    """When the terminal is closed, what runs is finished and kept."""
    terminal = open_terminal(command)
    terminal.until(is_held)
    terminal.hang_up()
    release.touch()
    terminal.process.wait(60)
    assert len(result_lines(manifest)) == QUICK + HELD


def test_a_closed_pipe_ends_quietly(command: list[str], open_terminal: Open, release: Path) -> None:
    """When the reader of results has enough, the run drains, without a word about pipes."""
    release.touch()
    script = '"$@" --jsonl - | head -n 1 >/dev/null; echo "codes ${PIPESTATUS[@]}"'
    terminal = open_terminal(["bash", "-c", script, "run", *command])
    assert terminal.end() == 0
    assert "codes 130 0" in terminal.text
    assert "BrokenPipe" not in terminal.text
    assert "Exception" not in terminal.text
    assert terminal.is_as_it_was()


def test_nobody_need_read_progress(
    command: list[str], open_terminal: Open, manifest: Path, release: Path
) -> None:
    """Progress into a pipe that is closed costs nothing but progress."""
    release.touch()
    script = '"$@" 2>&1 >/dev/null | true; echo "codes ${PIPESTATUS[@]}"'
    terminal = open_terminal(["bash", "-c", script, "run", *command])
    assert terminal.end() == 0
    assert "codes 0 0" in terminal.text
    assert len(result_lines(manifest)) == QUICK + HELD


def test_a_mistake_gives_the_terminal_back(command: list[str], open_terminal: Open, tmp_path: Path) -> None:
    """An error that ends the run is one message on a terminal as it was."""
    terminal = open_terminal([*command, "--sandbox", "docker"], DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert terminal.end() == 3
    assert "no Docker daemon answers" in terminal.text
    assert "Traceback" not in terminal.text
    assert terminal.is_as_it_was()


def test_no_colour(command: list[str], open_terminal: Open, release: Path) -> None:
    """With NO_COLOR the display has no colours."""
    release.touch()
    terminal = open_terminal(command, NO_COLOR="1")
    assert terminal.end() == 0
    assert re.search(rb"\x1b\[(\d+;)*3\d", terminal.raw) is None
    assert b"Leaderboard" in terminal.raw


def test_plain_lines_on_a_terminal(command: list[str], open_terminal: Open, release: Path) -> None:
    """With `--progress plain` nothing moves the cursor."""
    release.touch()
    terminal = open_terminal([*command, "--progress", "plain"])
    assert terminal.end() == 0
    assert "5/5 passed greeting checkpoint_1" in terminal.text
    assert b"\x1b[1A" not in terminal.raw
    assert b"\x1b[?25l" not in terminal.raw


def test_quiet_on_a_terminal(command: list[str], open_terminal: Open, release: Path) -> None:
    """With `--quiet` nothing at all is shown."""
    release.touch()
    terminal = open_terminal([*command, "--quiet"])
    assert terminal.end() == 0
    assert terminal.raw == b""

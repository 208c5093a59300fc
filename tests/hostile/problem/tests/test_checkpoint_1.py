"""Ten quick tests of a small tool; none shows SECRET, which only a spy can know."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from deepdiff import DeepDiff

Tool = Callable[..., "subprocess.CompletedProcess[str]"]
SECRET = "nobody-may-read-module-0a6fd27b41"
DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize(("numbers", "total"), [((2, 3), 5), ((40, 1, 1), 42)])
def test_adds(tool: Tool, numbers: tuple[int, ...], total: int) -> None:
    result = tool("add", *numbers)
    assert (result.returncode, result.stdout) == (0, f"{total}\n")


def test_copies_its_input(tool: Tool) -> None:
    result = tool("copy", standard_input="one\ntwo\n")
    assert (result.returncode, result.stdout) == (0, "one\ntwo\n")


def test_counts_the_words_of_an_asset(tool: Tool, words: Path) -> None:
    result = tool("count", words)
    assert (result.returncode, result.stdout) == (0, "8\n")


def test_writes_the_expected_file(tool: Tool, words: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    result = tool("sort", words, "--out", out)
    assert result.returncode == 0
    with (DATA / "expected.txt").open() as expected, out.open() as found:
        assert DeepDiff(expected.readlines(), found.readlines()) == {}


def test_reads_back_what_it_said(tool: Tool, tmp_path: Path) -> None:
    said = tool("reverse", "--near", tmp_path, standard_input="stressed")
    assert said.returncode == 0
    (tmp_path / "said.txt").write_text(said.stdout)
    again = tool("reverse", tmp_path / "said.txt")
    assert (said.stdout, again.stdout) == ("desserts", "stressed")


def test_is_started_from_another_folder(tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = tool("add", 7, "--near", tmp_path)
    assert (result.returncode, result.stdout) == (0, "7\n")
    Path("note.txt").write_text("still here")
    assert (tmp_path / "note.txt").read_text() == "still here"


@pytest.mark.error
def test_refuses_what_is_no_number(tool: Tool) -> None:
    result = tool("add", "two", "3")
    assert (result.returncode, result.stdout) == (2, "")
    assert "two" in result.stderr


@pytest.mark.functionality
def test_tells_its_version(tool: Tool) -> None:
    assert tool("--version").stdout == "words 1\n"


@pytest.mark.tidy
def test_leaves_no_spoils(workspace: Path) -> None:
    spoils = workspace / "spoils.txt"
    found = spoils.read_text(errors="replace")[:20_000] if spoils.is_file() else ""
    assert found == ""

"""Hashes of folders, and what is remembered about unchanged files."""

import os
import time
from pathlib import Path

import pytest

from engine.treehash import TreeHasher


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files that are old enough to be remembered."""
    top = tmp_path / "tree"
    (top / "sub").mkdir(parents=True)
    (top / "a.txt").write_text("a")
    (top / "sub" / "b.txt").write_text("b")
    return top


def an_hour_later() -> int:
    """A clock by which everything made by this test is an hour old."""
    return time.time_ns() + 3600 * 10**9


def digest(folder: Path, memory: Path | None = None) -> str:
    """Hash a folder as a new process would."""
    with TreeHasher(memory) as hasher:
        return hasher.digest(folder)


def test_names_contents_kinds_and_modes_matter(folder: Path) -> None:
    """Whatever a submission could notice gives another hash."""
    seen = {digest(folder)}

    def changed() -> bool:
        found = digest(folder)
        is_new = found not in seen
        seen.add(found)
        return is_new

    (folder / "a.txt").write_text("A")
    assert changed()
    (folder / "a.txt").rename(folder / "c.txt")
    assert changed()
    (folder / "c.txt").chmod(0o755)
    assert changed()
    (folder / "empty").mkdir()
    assert changed()
    (folder / "link").symlink_to("c.txt")
    assert changed()
    (folder / "link").unlink()
    (folder / "link").symlink_to("nowhere")
    assert changed()


def test_text_that_moves_between_files_matters(tmp_path: Path) -> None:
    """Two trees with the same bytes in other places differ."""
    for name, texts in {"x": ("ab", "c"), "y": ("a", "bc")}.items():
        (tmp_path / name).mkdir()
        for file, text in zip("12", texts, strict=True):
            (tmp_path / name / file).write_text(text)
    assert digest(tmp_path / "x") != digest(tmp_path / "y")


def test_unchanged_files_are_not_read_again(folder: Path, tmp_path: Path) -> None:
    """What an earlier process learnt is trusted, unless one asks for everything to be read."""
    counts = []
    for rehash in (False, False, True, False):
        with TreeHasher(tmp_path / "memory", rehash=rehash, clock=an_hour_later) as hasher:
            hasher.digest(folder)
            counts.append(hasher.files_read)
    assert counts == [2, 0, 2, 0]


def test_what_is_left_out_does_not_matter_and_stays_known(folder: Path, tmp_path: Path) -> None:
    """Looking at parts of a folder in turn reads each file once."""
    with TreeHasher(tmp_path / "memory", clock=an_hour_later) as hasher:
        part = hasher.digest(folder, lambda path: path != "a.txt")
        (folder / "a.txt").write_text("other")
        assert hasher.digest(folder, lambda path: path != "a.txt") == part
        assert hasher.digest(folder) != part
        hasher.digest(folder, lambda path: path != "a.txt")
        hasher.digest(folder)
        assert hasher.files_read == 2


def test_a_file_that_changed_just_now_is_not_remembered(folder: Path, tmp_path: Path) -> None:
    """It could change again within the same tick of the clock, with the same size and times."""
    memory = tmp_path / "memory"
    before = digest(folder, memory)
    about = (folder / "a.txt").stat()
    (folder / "a.txt").write_text("z")
    os.utime(folder / "a.txt", ns=(about.st_atime_ns, about.st_mtime_ns))
    assert digest(folder, memory) != before


def test_a_changed_file_is_noticed_by_its_facts(folder: Path, tmp_path: Path) -> None:
    """A new time or inode is enough to read that file again, and no other."""
    with TreeHasher(tmp_path / "memory", clock=an_hour_later) as hasher:
        before = hasher.digest(folder)
    about = (folder / "a.txt").stat()
    (folder / "new").write_text("z")
    (folder / "new").replace(folder / "a.txt")
    os.utime(folder / "a.txt", ns=(about.st_atime_ns, about.st_mtime_ns))
    with TreeHasher(tmp_path / "memory", clock=an_hour_later) as hasher:
        assert hasher.digest(folder) != before
        assert hasher.files_read == 1


def test_a_spoilt_memory_is_no_mistake(folder: Path, tmp_path: Path) -> None:
    """What cannot be read back is learnt again."""
    memory = tmp_path / "memory"
    before = digest(folder, memory)
    memory.write_bytes(b"not a database at all, but long enough to look at" * 50)
    assert digest(folder, memory) == before

"""Problems: what is read, what is lenient, what is refused."""

from pathlib import Path

import pytest

from engine.errors import DocumentError, UserError
from engine.problem import ProblemConfig, load_problem
from engine.results import GroupType


def problem(folder: Path, config: str, modules: tuple[str, ...] = ("a", "b", "c")) -> ProblemConfig:
    """Write a problem and load it."""
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(config, "utf-8")
    for name in modules:
        (folder / "tests" / f"test_{name}.py").touch()
    return load_problem(folder)


BASE = "name: p\nentry_file: main\n"


def test_the_least_that_a_problem_says(tmp_path: Path) -> None:
    """Name, entry file and checkpoints are enough, and a checkpoint may say nothing at all."""
    loaded = problem(tmp_path, BASE + "checkpoints:\n  b:\n  a: {}\n")
    assert [one.name for one in loaded.checkpoints] == ["b", "a"]
    assert loaded.timeout_for("a") is None
    assert loaded.version == "1"
    assert not loaded.warnings


def test_checkpoints_are_ordered_by_order_then_by_position(tmp_path: Path) -> None:
    """Prior means an earlier position in that order, whatever the names look like."""
    loaded = problem(tmp_path, BASE + "checkpoints: {c: {order: 1}, a: {order: 3}, b: {order: 2}}\n")
    assert [one.name for one in loaded.checkpoints] == ["c", "b", "a"]
    assert [one.name for one in loaded.prior("b")] == ["c"]
    assert dict(loaded.test_modules("b")) == {"test_c.py": "c", "test_b.py": "b"}
    assert loaded.later_modules("b") == ("test_a.py",)


def test_prior_tests_can_be_left_out(tmp_path: Path) -> None:
    """`include_prior_tests: false` is about the checkpoint that says it alone."""
    loaded = problem(tmp_path, BASE + "checkpoints: {a: {}, b: {include_prior_tests: false}, c: {}}\n")
    assert list(loaded.test_modules("b")) == ["test_b.py"]
    assert list(loaded.test_modules("c")) == ["test_a.py", "test_b.py", "test_c.py"]


def test_checkpoints_win_over_the_problem(tmp_path: Path) -> None:
    """Time limit and variables of a checkpoint stand over those of its problem."""
    config = (
        BASE
        + "timeout: 20\nenv: {A: 1, B: true, V: 1.10}\ncheckpoints: {a: {timeout: 1.5, env: {A: x}}, b: {}}\n"
    )
    loaded = problem(tmp_path, config)
    assert (loaded.timeout_for("a"), loaded.timeout_for("b")) == (1.5, 20)
    assert loaded.env_for("a") == (("A", "x"), ("B", "true"), ("V", "1.10"))


@pytest.mark.parametrize("written", ["Core", "CORE", "core"])
def test_groups_are_written_in_any_case(tmp_path: Path, written: str) -> None:
    """The group of a marker is recognised however it is spelled."""
    loaded = problem(tmp_path, BASE + f"checkpoints: {{a: {{}}}}\nmarkers: {{m: {{group: {written}}}}}\n")
    assert loaded.markers["m"].group is GroupType.CORE


def test_unknown_keys_are_let_pass_with_a_warning(tmp_path: Path) -> None:
    """Problems made for other tools work; what is not understood is told with its place."""
    config = (
        BASE + "adapter: {type: cli}\ncheckpoints:\n  a: {version: 1, specification: x, state: Core Tests}\n"
    )
    loaded = problem(tmp_path, config)
    assert [warning.removeprefix(str(tmp_path)) for warning in loaded.warnings] == [
        "/config.yaml:3:1: unknown key `adapter`",
        "/config.yaml:5:19: unknown key `specification`",
    ]


def test_assets_may_not_leave_the_problem(tmp_path: Path) -> None:
    """Neither by dots nor by a link does an asset reach outside."""
    home = tmp_path / "p"
    home.mkdir()
    (tmp_path / "outside").touch()
    (home / "link").symlink_to(tmp_path / "outside")
    (home / "inside").touch()
    assets = "static_assets: {good: {path: inside}, dots: {path: ../outside}, link: {path: link}}\n"
    with pytest.raises(DocumentError) as caught:
        problem(home, BASE + "checkpoints: {a: {}}\n" + assets)
    assert [place.message for place in caught.value.places] == [
        "`../outside` leaves the problem's directory",
        "`link` leaves the problem's directory",
    ]


def test_a_checkpoint_needs_its_module(tmp_path: Path) -> None:
    """A checkpoint without a test module is a mistake at that checkpoint."""
    with pytest.raises(DocumentError, match=r"config\.yaml:3:22: checkpoint `z` has no tests/test_z\.py"):
        problem(tmp_path, BASE + "checkpoints: {a: {}, z: {}}\n")


def test_a_folder_without_a_config_is_no_problem(tmp_path: Path) -> None:
    """The message says what is missing."""
    with pytest.raises(UserError, match=r"not a problem: there is no config\.yaml"):
        load_problem(tmp_path)


def test_an_unknown_checkpoint_is_told_with_the_nearest(tmp_path: Path) -> None:
    """Asking for a checkpoint that is not there says which one was probably meant."""
    loaded = problem(tmp_path, BASE + "checkpoints: {basic: {}}\n", ("basic",))
    with pytest.raises(UserError, match="did you mean `basic`"):
        loaded.checkpoint("bassic")

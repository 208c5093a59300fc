"""What can happen to a test run, each as a small project and the outcome that it must give.

`make.py` runs every case with real pytest and keeps what came out beside this file. The outcomes are
written by hand: nothing here is copied from what the engine said.
"""

# ruff: noqa: E501 (a small source reads best in one line)

import msgspec

from engine.results import BrokenKind, Status

MODULE = "tests/test_checkpoint_1.py"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A project, how pytest is called in it, and what must be made of the result."""

    name: str
    # The test module; further files by their path below the project.
    source: str = ""
    files: dict[str, str] = {}
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = (MODULE,)
    # Outcomes by node id without the module, in any order; other modules by their whole id.
    tests: dict[str, Status] = {}
    markers: dict[str, tuple[str, ...]] = {}
    broken: BrokenKind | None = None
    # Names of warnings beside those that every case has.
    warnings: tuple[str, ...] = ()
    # What a message must contain.
    messages: dict[str, str] = {}
    reruns: bool = False


IMPORTS = "import ctypes, os, signal, sys, time, unittest\nimport pytest\n\n"

CASES: tuple[Case, ...] = (
    Case(
        name="all_passed",
        source="def test_a(): pass\ndef test_b(): pass",
        tests={"test_a": "passed", "test_b": "passed"},
    ),
    Case(
        name="assertion_failed",
        source="def test_a():\n    assert 1 + 1 == 3, 'sums are wrong'\ndef test_b(): pass",
        tests={"test_a": "failed", "test_b": "passed"},
        messages={"test_a": "sums are wrong"},
    ),
    Case(
        name="setup_error",
        source="@pytest.fixture\ndef server():\n    raise OSError('no port')\ndef test_a(server): pass",
        tests={"test_a": "error"},
        messages={"test_a": "in setup:"},
    ),
    Case(
        name="teardown_error",
        source="@pytest.fixture\ndef server():\n    yield\n    raise OSError('still busy')\ndef test_a(server): pass",
        tests={"test_a": "error"},
        messages={"test_a": "still busy"},
    ),
    Case(
        name="call_and_teardown_error",
        source="@pytest.fixture\ndef server():\n    yield\n    raise OSError('still busy')\ndef test_a(server): assert 0, 'wrong'",
        tests={"test_a": "error"},
        messages={"test_a": "wrong"},
    ),
    Case(
        name="skip_by_mark",
        source="@pytest.mark.error\n@pytest.mark.skip(reason='not today')\ndef test_a(): pass\ndef test_b(): pass",
        tests={"test_a": "skipped", "test_b": "passed"},
        markers={"test_a": ("skip", "error")},
        messages={"test_a": "not today"},
    ),
    Case(
        name="skip_in_call",
        source='def test_a(): pytest.skip("it\'s (late)")',
        tests={"test_a": "skipped"},
        messages={"test_a": "it's (late)"},
    ),
    Case(
        name="skip_in_fixture",
        source="@pytest.fixture\ndef tool(): pytest.skip('no tool')\ndef test_a(tool): pass",
        tests={"test_a": "skipped"},
        messages={"test_a": "no tool"},
    ),
    Case(
        name="skip_by_module_mark",
        source="pytestmark = pytest.mark.skip(reason='all of it')\ndef test_a(): pass",
        tests={"test_a": "skipped"},
    ),
    Case(
        name="skip_of_module",
        source="pytest.skip('not here', allow_module_level=True)\ndef test_a(): pass",
        broken=BrokenKind.NO_TESTS,
    ),
    Case(
        name="skip_of_one_module",
        source="pytest.skip('not here', allow_module_level=True)\ndef test_a(): pass",
        files={"tests/test_checkpoint_2.py": "def test_b(): pass"},
        arguments=(MODULE, "tests/test_checkpoint_2.py"),
        tests={"tests/test_checkpoint_2.py::test_b": "passed"},
    ),
    Case(
        name="skip_without_parameters",
        source="@pytest.mark.parametrize('x', [])\ndef test_a(x): pass",
        tests={"test_a[NOTSET]": "skipped"},
    ),
    Case(
        name="xfail",
        source="@pytest.mark.xfail(reason='known')\ndef test_a(): assert 0",
        tests={"test_a": "skipped"},
    ),
    Case(
        name="xfail_in_setup",
        source="@pytest.fixture\ndef tool(): raise OSError\n@pytest.mark.xfail\ndef test_a(tool): pass",
        tests={"test_a": "skipped"},
    ),
    Case(
        name="xfail_not_run",
        source="@pytest.mark.xfail(run=False)\ndef test_a(): assert 0",
        tests={"test_a": "skipped"},
    ),
    Case(name="xfail_in_call", source="def test_a(): pytest.xfail('known')", tests={"test_a": "skipped"}),
    Case(name="xpass", source="@pytest.mark.xfail\ndef test_a(): pass", tests={"test_a": "passed"}),
    Case(
        name="xpass_strict",
        source="@pytest.mark.xfail(strict=True)\ndef test_a(): pass",
        tests={"test_a": "failed"},
        messages={"test_a": "XPASS(strict)"},
    ),
    Case(
        name="subtests_passed",
        source="def test_a(subtests):\n    for i in range(3):\n        with subtests.test(i=i): pass",
        tests={"test_a": "passed"},
    ),
    Case(
        name="subtest_failed",
        source="def test_a(subtests):\n    for i in range(3):\n        with subtests.test(i=i): assert i != 1",
        tests={"test_a": "failed"},
    ),
    Case(
        name="subtest_skipped",
        source="def test_a(subtests):\n    with subtests.test(): pytest.skip('one')\n    with subtests.test(): pass",
        tests={"test_a": "skipped"},
    ),
    Case(
        name="subtest_skipped_then_failed",
        source="def test_a(subtests):\n    with subtests.test(): pytest.skip('one')\n    with subtests.test(): assert 0",
        tests={"test_a": "failed"},
    ),
    Case(
        name="unittest_subtest_failed",
        source="class TestU(unittest.TestCase):\n    def test_a(self):\n        for i in range(3):\n"
        "            with self.subTest(i=i): self.assertNotEqual(i, 1)",
        tests={"TestU::test_a": "failed"},
    ),
    Case(
        name="unittest_last_subtest_failed",
        source="class TestU(unittest.TestCase):\n    def test_a(self):\n        for i in range(3):\n"
        "            with self.subTest(i=i): self.assertNotEqual(i, 2)",
        tests={"TestU::test_a": "failed"},
    ),
    Case(
        name="unittest_outcomes",
        source="class TestU(unittest.TestCase):\n    def test_a(self): self.fail('wrong')\n"
        "    def test_b(self): self.skipTest('why')\n    @unittest.expectedFailure\n    def test_c(self): self.fail()\n"
        "    def setUp(self): pass",
        tests={"TestU::test_a": "failed", "TestU::test_b": "skipped", "TestU::test_c": "skipped"},
    ),
    Case(
        name="rerun_passed",
        source="tries = []\n@pytest.mark.flaky(reruns=2)\ndef test_a():\n    tries.append(1)\n    assert len(tries) == 2",
        tests={"test_a": "passed"},
        warnings=("reruns",),
        reruns=True,
    ),
    Case(
        name="rerun_failed",
        source="@pytest.mark.flaky(reruns=2)\ndef test_a(): assert 0, 'always'\ndef test_b(): pass",
        tests={"test_a": "failed", "test_b": "passed"},
        warnings=("reruns",),
        reruns=True,
    ),
    Case(
        name="rerun_of_setup",
        source="tries = []\n@pytest.fixture\ndef tool():\n    tries.append(1)\n    assert len(tries) == 2\n"
        "@pytest.mark.flaky(reruns=2)\ndef test_a(tool): pass",
        tests={"test_a": "passed"},
        warnings=("reruns",),
        reruns=True,
    ),
    Case(
        name="timeout_by_signal",
        source="@pytest.mark.timeout(0.2, method='signal')\ndef test_a(): time.sleep(30)\ndef test_b(): pass",
        tests={"test_a": "failed", "test_b": "passed"},
        messages={"test_a": "Timeout"},
    ),
    Case(
        name="timeout_by_thread",
        source="def test_b(): pass\n@pytest.mark.timeout(0.2, method='thread')\ndef test_a(): time.sleep(30)",
        tests={"test_b": "passed"},
        broken=BrokenKind.GRADER_KILLED,
    ),
    Case(
        name="session_timeout",
        source="def test_a(): time.sleep(0.3)\ndef test_b(): pass",
        options=("--session-timeout=0.2",),
        tests={"test_a": "passed"},
        broken=BrokenKind.SESSION_TIMEOUT,
    ),
    Case(
        name="collection_error",
        source="import no_such_module\ndef test_a(): pass",
        broken=BrokenKind.COLLECTION_ERROR,
    ),
    Case(
        name="collection_error_passed_over",
        source="import no_such_module\ndef test_a(): pass",
        files={"tests/test_checkpoint_2.py": "def test_b(): pass"},
        options=("--continue-on-collection-errors",),
        arguments=(MODULE, "tests/test_checkpoint_2.py"),
        tests={"tests/test_checkpoint_2.py::test_b": "passed"},
        broken=BrokenKind.COLLECTION_ERROR,
    ),
    Case(name="syntax_error", source="def test_a(:", broken=BrokenKind.COLLECTION_ERROR),
    Case(
        name="conftest_broken",
        source="def test_a(): pass",
        files={"tests/conftest.py": "import no_such_module"},
        broken=BrokenKind.USAGE_ERROR,
    ),
    Case(
        name="unknown_option",
        source="def test_a(): pass",
        options=("--no-such-option",),
        broken=BrokenKind.USAGE_ERROR,
    ),
    Case(name="no_tests", source="def helper(): pass", broken=BrokenKind.NO_TESTS),
    Case(
        name="all_deselected",
        source="def test_a(): pass",
        options=("-k", "nothing"),
        broken=BrokenKind.NO_TESTS,
    ),
    Case(
        name="some_deselected",
        source="def test_a(): pass\ndef test_b(): pass",
        options=("-k", "test_a"),
        tests={"test_a": "passed"},
    ),
    Case(name="exit_at_import", source="sys.exit(0)", broken=BrokenKind.INTERNAL_ERROR),
    Case(
        name="internal_error",
        source="def test_a(): pass",
        files={"tests/conftest.py": "def pytest_runtest_logreport(report):\n    raise RuntimeError('hook')"},
        broken=BrokenKind.INTERNAL_ERROR,
    ),
    Case(
        name="os_exit_zero",
        source="def test_a(): pass\ndef test_b(): os._exit(0)\ndef test_c(): pass",
        tests={"test_a": "passed"},
        broken=BrokenKind.GRADER_KILLED,
    ),
    Case(
        name="os_exit_in_first_setup",
        source="@pytest.fixture\ndef tool(): os._exit(0)\ndef test_a(tool): pass",
        broken=BrokenKind.GRADER_KILLED,
    ),
    Case(
        name="os_exit_at_import",
        source="os._exit(0)",
        broken=BrokenKind.INTERNAL_ERROR,
    ),
    Case(
        name="segmentation_fault",
        source="def test_a(): pass\ndef test_b(): ctypes.string_at(0)",
        options=("-p", "no:faulthandler"),
        tests={"test_a": "passed"},
        broken=BrokenKind.GRADER_KILLED,
    ),
    Case(
        name="terminated",
        source="def test_a(): pass\ndef test_b(): os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)",
        tests={"test_a": "passed"},
        broken=BrokenKind.GRADER_KILLED,
    ),
    Case(
        name="killed",
        source="def test_a(): pass\ndef test_b(): os.kill(os.getpid(), signal.SIGKILL); time.sleep(30)",
        tests={"test_a": "passed"},
        broken=BrokenKind.GRADER_KILLED,
    ),
    Case(
        name="keyboard_interrupt",
        source="def test_a(): pass\ndef test_b(): os.kill(os.getpid(), signal.SIGINT); time.sleep(30)",
        tests={"test_a": "passed"},
        broken=BrokenKind.GRADER_KILLED,
    ),
    Case(
        name="pytest_exit",
        source="def test_a(): pass\ndef test_b(): pytest.exit('enough')",
        tests={"test_a": "passed"},
        broken=BrokenKind.GRADER_KILLED,
    ),
    Case(
        name="pytest_exit_with_success",
        source="def test_a(): pass\ndef test_b(): pytest.exit('enough', returncode=0)\ndef test_c(): pass",
        tests={"test_a": "passed"},
        broken=BrokenKind.GRADER_KILLED,
    ),
    Case(
        name="pytest_exit_with_another_code",
        source="def test_a(): pass\ndef test_b(): pytest.exit('enough', returncode=77)",
        tests={"test_a": "passed"},
        broken=BrokenKind.GRADER_KILLED,
    ),
    Case(
        name="interrupt_in_first_setup",
        source="@pytest.fixture\ndef tool(): raise KeyboardInterrupt\ndef test_a(tool): pass",
        broken=BrokenKind.GRADER_KILLED,
    ),
    Case(
        name="fork_in_test",
        source="def test_a():\n    if os.fork() == 0:\n        return\n    time.sleep(0.5)\ndef test_b(): pass",
        tests={"test_a": "passed", "test_b": "passed"},
    ),
    Case(
        name="parameters",
        source="@pytest.mark.parametrize('x', ['a::b', 'with space', 'a/b.py', '[x]', 'grün', '\\ud800', '', 'error', 'é::['])\n"
        "def test_a(x): pass",
        tests={
            "test_a[a::b]": "passed",
            "test_a[with space]": "passed",
            "test_a[a/b.py]": "passed",
            "test_a[[x]]": "passed",
            "test_a[gr\\xfcn]": "passed",
            "test_a[\\ud800]": "passed",
            "test_a[]": "passed",
            "test_a[error]": "passed",
            "test_a[\\xe9::[]": "passed",
        },
        # The value of a parameter stands in the report as it is.
        warnings=("report_mended",),
    ),
    Case(
        name="parameters_unescaped",
        source="@pytest.mark.parametrize('x', ['grün', '\\ud800', '☃', '😀'])\ndef test_a(x): pass",
        files={
            "pytest.ini": "[pytest]\ndisable_test_id_escaping_and_forfeit_all_rights_to_community_support = true\n"
        },
        # pytest puts the id into its environment, where a lone surrogate does not go.
        tests={
            "test_a[grün]": "passed",
            "test_a[\\ud800]": "error",
            "test_a[☃]": "passed",
            "test_a[😀]": "passed",
        },
        warnings=("report_mended",),
    ),
    Case(
        name="markers",
        source="@pytest.mark.error\ndef test_a(): pass\n@pytest.mark.slow(reason='x', level=3)\n@pytest.mark.functionality\n"
        "class TestX:\n    @pytest.mark.parametrize('error', [1])\n    def test_b(self, error): pass\n"
        "def test_error(): pass",
        tests={"test_a": "passed", "TestX::test_b[1]": "passed", "test_error": "passed"},
        markers={
            "test_a": ("error",),
            "TestX::test_b[1]": ("parametrize", "functionality", "slow"),
            "test_error": (),
        },
    ),
    Case(
        name="same_names_in_two_files",
        source="def test_a(): pass",
        files={"tests/test_checkpoint_2.py": "def test_a(): assert 0"},
        arguments=(MODULE, "tests/test_checkpoint_2.py"),
        tests={"test_a": "passed", "tests/test_checkpoint_2.py::test_a": "failed"},
    ),
    Case(
        name="inherited_tests",
        source="from base import TestBase",
        files={
            "tests/base.py": "class TestBase:\n    def test_a(self): pass\n    def test_b(self): assert 0"
        },
        tests={"TestBase::test_a": "passed", "TestBase::test_b": "failed"},
    ),
    Case(
        name="selected_twice",
        source="def test_a(): pass",
        options=("--keep-duplicates",),
        arguments=("tests", "tests"),
        tests={"test_a": "passed"},
        warnings=("duplicate_ids", "reruns"),
    ),
    Case(
        name="surrogates_in_message",
        source="def test_a(): assert '\\ud800' == 'x'\ndef test_b(): pass",
        tests={"test_a": "failed", "test_b": "passed"},
        warnings=("report_mended",),
    ),
    Case(
        name="not_a_number",
        source="@pytest.mark.parametrize('x', [float('nan'), float('-inf')])\n"
        "def test_a(x, record_property): record_property('x', float('inf'))",
        tests={"test_a[nan]": "passed", "test_a[-inf]": "passed"},
        warnings=("report_mended",),
    ),
    Case(
        name="long_message",
        source="def test_a(): assert 0, 'begin' + 'x' * 3_000_00 + 'finish'",
        tests={"test_a": "failed"},
        messages={"test_a": "characters left out"},
    ),
    Case(
        name="terminal_codes_in_message",
        source="def test_a(): assert 0, '\\x1b[31mred\\x1b[0m\\x00\\x07'",
        tests={"test_a": "failed"},
        messages={"test_a": "red"},
    ),
    Case(
        name="exit_code_softened",
        source="def test_a(): assert 0",
        files={
            "tests/conftest.py": "import pytest\n@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(session):\n    session.exitstatus = 0"
        },
        tests={"test_a": "failed"},
        broken=BrokenKind.TAMPERED,
    ),
    Case(
        name="exit_code_hardened",
        source="def test_a(): pass",
        files={
            "tests/conftest.py": "import pytest\n@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(session):\n    session.exitstatus = 1"
        },
        tests={"test_a": "passed"},
        warnings=("failure_unexplained", "exit_code_rewritten"),
    ),
    Case(
        name="reports_unwritable",
        source="def test_a(): pass",
        files={
            "tests/conftest.py": "import os\ndef pytest_collection_finish(session):\n    os.chmod('.', 0o755)\n"
            "    os.mkdir('pytest-report.json')\n    os.mkdir('ctrf-report.json')"
        },
        tests={"test_a": "passed"},
        broken=BrokenKind.REPORT_MISSING,
    ),
    Case(
        name="stopped_at_first_failure",
        source="def test_a(): assert 0\ndef test_b(): pass",
        options=("-x",),
        tests={"test_a": "failed"},
        broken=BrokenKind.TAMPERED,
    ),
)

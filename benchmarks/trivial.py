"""A trivial problem with four tests, and a submission that passes them."""

from pathlib import Path

FILES = {
    "problems/trivial/config.yaml": (
        "name: trivial\nentry_file: main.py\ncheckpoints: {checkpoint_1: {version: 1}}\n"
    ),
    "problems/trivial/tests/conftest.py": (
        "import shlex, pytest\n"
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--entrypoint', default='python main.py')\n"
        "    parser.addoption('--checkpoint')\n"
        "@pytest.fixture\n"
        "def entry(request):\n"
        "    return shlex.split(request.config.getoption('--entrypoint'))\n"
    ),
    "problems/trivial/tests/test_checkpoint_1.py": (
        "import subprocess, pytest\n"
        "@pytest.mark.parametrize('word', ['a', 'b', 'c', 'd'])\n"
        "def test_says(entry, word):\n"
        "    told = subprocess.run([*entry, word], capture_output=True, text=True, timeout=10)\n"
        "    assert told.stdout == f'hello {word}\\n'\n"
    ),
}
SUBMISSION = "import sys\nprint('hello', sys.argv[1])\n"


def lay_out(folder: Path, submissions: int = 1) -> None:
    """Write the problem and so many equal submissions."""
    files = dict(FILES)
    for number in range(submissions):
        files[f"submissions/m{number}/trivial/checkpoint_1/main.py"] = SUBMISSION
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

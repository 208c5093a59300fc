"""The arena that the hostile cases of one session share."""

from collections.abc import Iterator

import pytest

from tests.hostile.arena import Arena, open_arena
from tests.hostile.collection import Case

# What is judged in containers, and not by this session.
collect_ignore = ["cases", "problem", "handing", "importing", "importing_undeclared", "honest", "demanding"]


@pytest.fixture
def anyio_backend() -> str:
    """aiodocker needs asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def arena(
    request: pytest.FixtureRequest, image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Arena]:
    """Every case that a test of this session asks for, under way."""
    cases = _cases_of(request.session.items)
    with open_arena(cases, image, tmp_path_factory.mktemp("arena")) as arena:
        yield arena


def _cases_of(items: list[pytest.Item]) -> list[Case]:
    cases: dict[str, Case] = {}
    for item in items:
        if isinstance(item, pytest.Function) and "arena" in item.fixturenames:
            case = item.callspec.params["case"]
            assert isinstance(case, Case)
            cases[case.name] = case
    return list(cases.values())

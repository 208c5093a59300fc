"""The list of cases for people."""

from tests.hostile.collection import load_all
from tests.hostile.table import README, table


def test_the_table_is_up_to_date() -> None:
    """README.md is what `python -m tests.hostile.table` makes."""
    assert README.read_text(encoding="utf-8") == table()


def test_the_collection_is_large_enough() -> None:
    """There are at least forty cases, and most of them win where nothing stops them or say why not."""
    assert len(load_all()) >= 40

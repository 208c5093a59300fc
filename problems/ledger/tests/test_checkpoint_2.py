"""Part 2: filters, register, depth and tree."""

import pytest

SAMPLE = """
2024-01-02 * Salary January
    Assets:Bank:Checking      2,400.00
    Income:Salary

2024-01-05 ! Groceries   ; weekly shopping
    Expenses:Food                54.20
    Expenses:Household           12.80
    Assets:Bank:Checking        -67.00
"""

DATED = """
2024-03-01 * Third
    A    4
    X
2024-01-01 First
    A    1
    X
2024-02-01 ! Second
    A    2
    X
"""


def line(date, description, account, amount, total):
    return f"{date} {description:<20} {account:<26} {amount:>12} {total:>12}\n"


def test_register(ledger):
    ledger.write(SAMPLE)
    assert ledger("register", "checking") == (
        "2024-01-02 Salary January       Assets:Bank:Checking            2400.00      2400.00\n"
        "2024-01-05 Groceries            Assets:Bank:Checking             -67.00      2333.00\n"
    )


def test_register_without_patterns_lists_every_posting(ledger):
    ledger.write(SAMPLE)
    lines = ledger("register").splitlines(keepends=True)
    assert len(lines) == 5
    assert lines[1] == line("2024-01-02", "Salary January", "Income:Salary", "-2400.00", "0.00")
    assert lines[4] == line("2024-01-05", "Groceries", "Assets:Bank:Checking", "-67.00", "0.00")


def test_register_is_in_order_of_dates(ledger):
    ledger.write(DATED)
    assert ledger("register", "A") == (
        line("2024-01-01", "First", "A", "1.00", "1.00")
        + line("2024-02-01", "Second", "A", "2.00", "3.00")
        + line("2024-03-01", "Third", "A", "4.00", "7.00")
    )


def test_register_keeps_the_order_of_the_same_date(ledger):
    ledger.write("""
        2024-01-02 Zebra
            B    1
            X
        2024-01-02 Aardvark
            B    3
            A    2
            X
        2024-01-01 Early
            A    5
            X
    """)
    assert ledger("register", "a", "b") == (
        line("2024-01-01", "Early", "A", "5.00", "5.00")
        + line("2024-01-02", "Zebra", "B", "1.00", "6.00")
        + line("2024-01-02", "Aardvark", "B", "3.00", "9.00")
        + line("2024-01-02", "Aardvark", "A", "2.00", "11.00")
    )


def test_register_with_nothing_to_print(ledger):
    ledger.write(SAMPLE)
    assert ledger("register", "nowhere") == ""


@pytest.mark.parametrize(
    ("options", "amount"),
    [
        (["--begin", "2024-02-01"], "6.00"),
        (["--end", "2024-02-01"], "1.00"),
        (["--begin", "2024-01-02", "--end", "2024-03-01"], "2.00"),
        (["--status", "cleared"], "4.00"),
        (["--status", "pending"], "2.00"),
        (["--status", "unmarked"], "1.00"),
        (["--status", "cleared", "--end", "2024-03-02"], "4.00"),
    ],
    ids=["begin", "end", "both", "cleared", "pending", "unmarked", "status-and-end"],
)
def test_balance_filters(ledger, options, amount):
    ledger.write(DATED)
    assert ledger("balance", *options, "A") == f"{amount:>14}  A\n--------------\n{amount:>14}\n"


def test_register_filters(ledger):
    ledger.write(DATED)
    assert ledger("register", "--begin", "2024-02-01", "--end", "2024-03-01", "A") == line(
        "2024-02-01", "Second", "A", "2.00", "2.00"
    )


def test_accounts_filters(ledger):
    ledger.write(SAMPLE)
    assert ledger("accounts", "--status", "cleared") == "Assets:Bank:Checking\nIncome:Salary\n"


def test_depth(ledger):
    ledger.write(SAMPLE)
    assert ledger("balance", "--depth", "1") == (
        "       2333.00  Assets\n         67.00  Expenses\n      -2400.00  Income\n"
        "--------------\n          0.00\n"
    )


def test_depth_adds_before_zeros_are_left_out(ledger):
    ledger.write("""
        2024-01-01 Move
            Assets:Bank:Old     -7
            Assets:Bank:New      7
            Assets:Cash:Purse    2
            Income
    """)
    assert ledger("balance", "--depth", "2") == (
        "          2.00  Assets:Cash\n         -2.00  Income\n--------------\n          0.00\n"
    )


def test_tree(ledger):
    ledger.write(SAMPLE)
    assert ledger("balance", "--tree") == (
        "       2333.00  Assets\n"
        "       2333.00    Bank\n"
        "       2333.00      Checking\n"
        "         67.00  Expenses\n"
        "         54.20    Food\n"
        "         12.80    Household\n"
        "      -2400.00  Income\n"
        "      -2400.00    Salary\n"
        "--------------\n"
        "          0.00\n"
    )


def test_tree_parent_with_postings_of_its_own(ledger):
    ledger.write("""
        2024-01-01 Mixed
            Costs           1
            Costs:Car       2
            Costs:Car:Fuel  4
            Cash
    """)
    assert ledger("balance", "--tree", "costs") == (
        "          7.00  Costs\n          6.00    Car\n          4.00      Fuel\n"
        "--------------\n          7.00\n"
    )


@pytest.mark.parametrize(
    ("command", "name"),
    [(["register"], "household-register.txt"), (["balance", "--tree"], "household-tree.txt")],
    ids=["register", "tree"],
)
def test_sample_household(ledger, assets, expected, command, name):
    command, *options = command
    assert ledger(command, *options, file=assets / "journals" / "household.journal") == expected(name)


@pytest.mark.functionality
def test_register_long_description_is_cut(ledger):
    ledger.write("2024-01-01 A description of many words\n A  1\n B\n")
    assert ledger("register", "A") == line("2024-01-01", "A description of man", "A", "1.00", "1.00")


@pytest.mark.functionality
def test_register_wide_columns_are_printed_in_full(ledger):
    account = "Expenses:Travel:Public Transport:Trains"
    ledger.write(f"2024-01-01\n {account}  12345678901.00\n B\n")
    assert ledger("register", "travel") == f"2024-01-01 {'':20} {account} 12345678901.00 12345678901.00\n"


@pytest.mark.functionality
def test_begin_after_end_chooses_nothing(ledger):
    ledger.write(DATED)
    options = ["--begin", "2024-03-01", "--end", "2024-01-01"]
    assert ledger("register", *options) == ""
    assert ledger("balance", *options) == "--------------\n          0.00\n"


@pytest.mark.functionality
def test_tree_zero_parent_of_a_shown_line_is_shown(ledger):
    ledger.write("""
        2024-01-01 Move
            Assets:Old     -7
            Assets:New      7
            Debts:None      0
    """)
    assert ledger("balance", "--tree") == (
        "          0.00  Assets\n          7.00    New\n         -7.00    Old\n"
        "--------------\n          0.00\n"
    )
    assert ledger("balance", "--tree", "--depth", "1") == "--------------\n          0.00\n"


@pytest.mark.functionality
def test_tree_with_empty_shows_every_line(ledger):
    ledger.write("2024-01-01 Nothing\n A:B:C  0\n A:D  0\n")
    assert ledger("balance", "--tree", "--empty") == (
        "          0.00  A\n          0.00    B\n          0.00      C\n          0.00    D\n"
        "--------------\n          0.00\n"
    )


@pytest.mark.functionality
def test_tree_depth_keeps_the_sums(ledger):
    ledger.write(SAMPLE)
    assert ledger("balance", "--tree", "--depth", "2", "assets", "expenses") == (
        "       2333.00  Assets\n"
        "       2333.00    Bank\n"
        "         67.00  Expenses\n"
        "         54.20    Food\n"
        "         12.80    Household\n"
        "--------------\n"
        "       2400.00\n"
    )


@pytest.mark.functionality
def test_tree_is_sorted_level_by_level(ledger):
    ledger.write("2024-01-01 Order\n A-B:C  1\n A:B  2\n A  4\n A B  8\n X\n")
    assert ledger("balance", "--tree", "A") == (
        "          6.00  A\n"
        "          2.00    B\n"
        "          8.00  A B\n"
        "          1.00  A-B\n"
        "          1.00    C\n"
        "--------------\n"
        "         15.00\n"
    )


@pytest.mark.error
@pytest.mark.parametrize(
    "options",
    [
        ["balance", "--begin", "2024-02-30"],
        ["register", "--end", "tomorrow"],
        ["accounts", "--status", "done"],
        ["balance", "--depth", "0"],
        ["balance", "--depth", "two"],
    ],
    ids=["begin", "end", "status", "depth-zero", "depth-word"],
)
def test_usage_errors(ledger, options):
    path = ledger.write(SAMPLE)
    command, *rest = options
    ledger.usage_error(command, "--file", path, *rest)


@pytest.mark.error
def test_errors_of_transactions_that_are_not_chosen(ledger):
    ledger.write("""
        2023-01-01 Wrong
            A    1
            B    1

        2024-01-01 Right
            A    1
            B
    """)
    assert ledger.error("register", "--begin", "2024-01-01") == "error: line 1: unbalanced transaction"

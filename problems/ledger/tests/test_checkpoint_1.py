"""Part 1: reading a journal, check, accounts, balance."""

import pytest

SAMPLE = """
; household book
2024-01-02 * Salary January
    Assets:Bank:Checking      2,400.00
    Income:Salary

2024-01-05 ! Groceries   ; weekly shopping
    Expenses:Food                54.20
    Expenses:Household           12.80
    Assets:Bank:Checking        -67.00
"""

SAMPLE_BALANCE = """\
       2333.00  Assets:Bank:Checking
         54.20  Expenses:Food
         12.80  Expenses:Household
      -2400.00  Income:Salary
--------------
          0.00
"""


def test_check_counts(ledger):
    ledger.write(SAMPLE)
    assert ledger("check") == "ok: 2 transactions, 5 postings\n"


def test_accounts_are_listed_once_and_sorted(ledger):
    ledger.write(SAMPLE)
    assert ledger("accounts") == "Assets:Bank:Checking\nExpenses:Food\nExpenses:Household\nIncome:Salary\n"


def test_balance(ledger):
    ledger.write(SAMPLE)
    assert ledger("balance") == SAMPLE_BALANCE


def test_missing_amount_balances_the_others(ledger):
    ledger.write("""
        2024-01-01 Split
            A       10.25
            B
            C        4.5
    """)
    assert ledger("balance") == (
        "         10.25  A\n        -14.75  B\n          4.50  C\n--------------\n          0.00\n"
    )


def test_balance_of_an_empty_journal(ledger):
    ledger.write("; nothing yet\n\n")
    assert ledger("balance") == "--------------\n          0.00\n"


def test_accounts_with_zero_balance_are_left_out(ledger):
    ledger.write("""
        2024-01-01 Lend
            Cash        -20.00
            Friend       20.00
        2024-01-02 Repaid
            Friend      -20.00
            Bank
    """)
    assert ledger("balance") == "         20.00  Bank\n        -20.00  Cash\n--------------\n          0.00\n"


@pytest.mark.parametrize(
    ("patterns", "lines"),
    [
        (["food"], ["         54.20  Expenses:Food", "         54.20"]),
        (["BANK:"], ["       2333.00  Assets:Bank:Checking", "       2333.00"]),
        (
            ["household", "Income"],
            ["         12.80  Expenses:Household", "      -2400.00  Income:Salary", "      -2387.20"],
        ),
        (["no such account"], ["          0.00"]),
    ],
    ids=["part", "case", "several", "none"],
)
def test_balance_patterns(ledger, patterns, lines):
    ledger.write(SAMPLE)
    output = "\n".join([*lines[:-1], "-" * 14, lines[-1]]) + "\n"
    assert ledger("balance", *patterns) == output


def test_account_names_with_spaces_and_tabs_as_separator(ledger):
    ledger.write("2024-01-01 Save\n\tAssets:Savings Account\t5\n  Assets:My Purse   -5\n")
    assert ledger("accounts") == "Assets:My Purse\nAssets:Savings Account\n"


def test_comments_do_not_end_a_transaction(ledger):
    ledger.write("""
        # at the start
        2024-01-01 One
            A    1   ; first
            ; between postings
        ; between postings, not indented
        # likewise
            B   -1;second
    """)
    assert ledger("check") == "ok: 1 transactions, 2 postings\n"


def test_header_ends_the_transaction_before_it(ledger):
    ledger.write("""
        2024-01-01 One
            A    1
            B   -1
        2024-01-02 Two
            A    2
            B
    """)
    assert ledger("balance") == "          3.00  A\n         -3.00  B\n--------------\n          0.00\n"


@pytest.mark.parametrize("command", ["accounts", "balance"])
def test_sample_household(ledger, assets, expected, command):
    output = ledger(command, file=assets / "journals" / "household.journal")
    assert output == expected(f"household-{command}.txt")


@pytest.mark.functionality
def test_empty_shows_zero_balances(ledger):
    ledger.write("""
        2024-01-01 Nothing
            A    -0.00
            B     0
        2024-01-02 Something
            C     1
            D
    """)
    assert ledger("balance", "--empty") == (
        "          0.00  A\n          0.00  B\n          1.00  C\n         -1.00  D\n"
        "--------------\n          0.00\n"
    )


@pytest.mark.functionality
def test_grouped_digits(ledger):
    ledger.write("""
        2024-01-01 Large
            A    12,345,678
            B    -1,000.5
            C
    """)
    assert ledger("balance") == (
        "   12345678.00  A\n      -1000.50  B\n  -12344677.50  C\n--------------\n          0.00\n"
    )


@pytest.mark.functionality
def test_wide_amounts_are_printed_in_full(ledger):
    ledger.write("""
        2024-01-01 Very large
            A    123456789012345678901234567890.12
            B
    """)
    assert ledger("balance", "a") == (
        "123456789012345678901234567890.12  A\n--------------\n123456789012345678901234567890.12\n"
    )


@pytest.mark.functionality
def test_many_small_amounts_are_exact(ledger):
    ledger.write("".join(f"2024-01-01 Drop {n}\n A  0.10\n B\n\n" for n in range(300)))
    assert ledger("balance", "A") == "         30.00  A\n--------------\n         30.00\n"


@pytest.mark.functionality
def test_accounts_are_sorted_by_code_point(ledger):
    ledger.write("2024-01-01 Order\n b  1\n a:Z  1\n a:é  1\n B  1\n a:z  1\n a  -5\n")
    assert ledger("accounts") == "B\na\na:Z\na:z\na:é\nb\n"


@pytest.mark.error
@pytest.mark.parametrize(
    ("journal", "message"),
    [
        ("2024-02-30 X\n A  1\n B\n", "line 1: invalid date"),
        ("; c\n\n2024-1-05 X\n A  1\n B\n", "line 3: invalid date"),
        ("2024-01-01 X\n A  1\n B\n\n C  1\n", "line 5: posting outside a transaction"),
        ("2024-01-01 X\n A::B  1\n C\n", "line 2: invalid account"),
        ("2024-01-01 X\n A  1,25\n B\n", "line 2: invalid amount"),
        ("2024-01-01 X\n A  1\n B  +1\n", "line 3: invalid amount"),
        ("2024-01-01 X\n A  1.234\n B\n", "line 2: invalid amount"),
        ("2024-01-01 X\n A  ten\n B\n", "line 2: invalid amount"),
        ("Hello\n", "line 1: unexpected line"),
        ("2024-01-01 X\n A  1\n", "line 1: too few postings"),
        ("; c\n2024-01-01 X\n A  1\n B\n C\n", "line 2: more than one amount missing"),
        ("2024-01-01 X\n A  1\n B  -1.01\n", "line 1: unbalanced transaction"),
        ("2024-01-01 X\n A  1\n B  1\n\nHello\n", "line 1: unbalanced transaction"),
    ],
    ids=[
        "no-such-day",
        "short-month",
        "outside",
        "empty-part",
        "bad-grouping",
        "plus",
        "three-decimals",
        "words",
        "unexpected",
        "one-posting",
        "two-missing",
        "unbalanced",
        "first-error-only",
    ],
)
def test_journal_errors(ledger, journal, message):
    ledger.journal.write_text(journal, encoding="utf-8")
    assert ledger.error("balance") == f"error: {message}"


@pytest.mark.error
def test_journal_that_does_not_exist(ledger):
    assert ledger.error("check") == f"error: cannot read {ledger.journal}"


@pytest.mark.error
def test_usage_errors(ledger):
    path = ledger.write(SAMPLE)
    ledger.usage_error("balance")
    ledger.usage_error("explode", "--file", path)
    ledger.usage_error("check", "--file", path, "--no-such-option")

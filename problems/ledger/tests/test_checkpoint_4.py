"""Part 4: includes, assertions, formats and months."""

import csv
import io
import json

import pytest

SHARES = """
2024-02-01 * Buy shares
    Assets:Broker       10 ACME @ 12.50 EUR
    Assets:Bank        -125.00 EUR
"""

YEAR = """
2024-03-15 Groceries
    Expenses:Food    20.00 EUR
    Assets:Bank
2024-01-05 Groceries
    Expenses:Food    40.00 EUR
    Assets:Bank
2024-01-20 * Groceries
    Expenses:Food    27.00 EUR
    Assets:Bank
"""


def test_include(ledger):
    ledger.write("""
        include other.journal
        2024-01-02 Here
            A    1
            B
    """)
    ledger.write("2024-01-01 There\n A  2\n B\n", "other.journal")
    assert ledger("check") == "ok: 2 transactions, 4 postings\n"
    assert ledger("balance", "A") == "          3.00  A\n--------------\n          3.00\n"


def test_include_is_relative_to_the_including_file(ledger):
    ledger.write("include years/2024/all.journal\n")
    ledger.write("include january.journal\ninclude ../prices.journal\n", "years/2024/all.journal")
    ledger.write("2024-01-01 There\n A  2 ACME\n B\n", "years/2024/january.journal")
    ledger.write("P 2024-01-01 ACME 3 EUR\n", "years/prices.journal")
    assert ledger("balance", "--value", "EUR", "A") == "      6.00 EUR  A\n--------------\n      6.00 EUR\n"


def test_include_takes_the_place_of_its_line(ledger):
    ledger.write("""
        2024-01-01 One
            A    1
            B
        include two.journal
        2024-01-01 Three
            A    3
            B
    """)
    ledger.write("2024-01-01 Two\n A  2\n B", "two.journal")
    rows = list(csv.DictReader(io.StringIO(ledger("register", "--format", "csv", "A"))))
    assert [row["description"] for row in rows] == ["One", "Two", "Three"]


def test_include_the_same_file_twice(ledger):
    ledger.write("include twice.journal\n\ninclude  twice.journal \n")
    ledger.write("2024-01-01 Again\n A  2\n B\n", "twice.journal")
    assert ledger("balance", "A") == "          4.00  A\n--------------\n          4.00\n"


def test_assertion_that_holds(ledger):
    ledger.write("""
        2024-01-01 Start
            Bank      500.00 EUR = 500 EUR
            Equity
        2024-03-01 Groceries
            Food       20.00 EUR
            Bank      -20.00 EUR=480.00 EUR
        2024-03-02 Shares
            Bank        2 ACME @ 10.00 EUR = 2 ACME
            Bank      -20.00 EUR = 460.00 EUR
    """)
    assert ledger("check") == "ok: 3 transactions, 6 postings\n"


def test_assertions_are_checked_in_order_of_dates(ledger):
    ledger.write("""
        2024-03-01 Later
            Bank      -20.00 = 80.00
            Food
        2024-01-01 Earlier
            Bank      100.00 = 100
            Equity
    """)
    assert ledger("balance", "bank") == "         80.00  Bank\n--------------\n         80.00\n"


def test_assertions_are_about_the_account_itself_and_one_commodity(ledger):
    ledger.write("""
        2024-01-01 Start
            Bank:Savings    7 EUR = 7 EUR
            Bank            5 USD = 5 USD
            Bank            1 EUR = 1 EUR
            Bank:Savings    2 EUR = 9 EUR
            Equity
    """)
    assert ledger("check") == "ok: 1 transactions, 5 postings\n"


def test_balance_csv(ledger):
    ledger.write(SHARES)
    assert ledger("balance", "--format", "csv") == (
        "account,commodity,amount\nAssets:Bank,EUR,-125.00\nAssets:Broker,ACME,10\n"
    )


def test_register_csv(ledger):
    ledger.write(SHARES)
    assert ledger("register", "--format", "csv") == (
        "date,description,account,commodity,amount,total\n"
        "2024-02-01,Buy shares,Assets:Broker,ACME,10,10\n"
        "2024-02-01,Buy shares,Assets:Bank,EUR,-125.00,-125.00\n"
    )


def test_balance_json(ledger):
    ledger.write(SHARES)
    assert json.loads(ledger("balance", "--format", "json")) == {
        "accounts": [
            {"account": "Assets:Bank", "commodity": "EUR", "amount": "-125.00"},
            {"account": "Assets:Broker", "commodity": "ACME", "amount": "10"},
        ],
        "total": [{"commodity": "ACME", "amount": "10"}, {"commodity": "EUR", "amount": "-125.00"}],
    }


def test_register_json(ledger):
    ledger.write("2024-01-01 Zürich\n A  2\n B\n")
    assert json.loads(ledger("register", "--format", "json", "B")) == [
        {
            "date": "2024-01-01",
            "description": "Zürich",
            "account": "B",
            "commodity": "",
            "amount": "-2.00",
            "total": "-2.00",
        }
    ]


def test_text_is_the_default(ledger):
    ledger.write(SHARES)
    for command in ("balance", "register"):
        output = ledger(command, "--format", "text")
        assert "-125.00 EUR" in output
        assert output == ledger(command)


def test_monthly(ledger):
    ledger.write(YEAR)
    assert ledger("monthly", "food") == (
        f"2024-01  {'67.00 EUR':>14}\n2024-02  {'0.00':>14}\n2024-03  {'20.00 EUR':>14}\n"
    )


def test_monthly_over_the_end_of_a_year(ledger):
    ledger.write("""
        2023-11-30 Old
            A    1
            B
        2024-01-01 New
            A    2
            B
    """)
    assert ledger("monthly", "A") == (
        "2023-11            1.00\n2023-12            0.00\n2024-01            2.00\n"
    )


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["register", "--format", "csv"], "club-register.csv"),
        (["monthly"], "club-monthly.txt"),
    ],
    ids=["register", "monthly"],
)
def test_sample_club(ledger, assets, expected, command, name):
    command, *options = command
    assert ledger(command, *options, file=assets / "journals" / "club" / "main.journal") == expected(name)


def test_sample_club_json(ledger, assets, expected):
    journal = assets / "journals" / "club" / "main.journal"
    output = ledger("balance", "--value", "EUR", "--format", "json", file=journal)
    assert json.loads(output) == json.loads(expected("club-balance.json"))


@pytest.mark.functionality
def test_csv_quotes_only_where_needed(ledger):
    ledger.write("""
        2024-01-01 Say "hi", then go
            A "b"    1
            C, D
        2024-01-02 It's a plain (long) description, isn't it
            A    1
            B
    """)
    assert ledger("register", "--format", "csv", "A", "C") == (
        "date,description,account,commodity,amount,total\n"
        '2024-01-01,"Say ""hi"", then go","A ""b""",,1.00,1.00\n'
        '2024-01-01,"Say ""hi"", then go","C, D",,-1.00,0.00\n'
        "2024-01-02,\"It's a plain (long) description, isn't it\",A,,1.00,1.00\n"
    )


@pytest.mark.functionality
def test_formats_of_nothing(ledger):
    ledger.write("; nothing\n")
    assert ledger("balance", "--format", "csv") == "account,commodity,amount\n"
    assert json.loads(ledger("balance", "--format", "json")) == {
        "accounts": [],
        "total": [{"commodity": "", "amount": "0.00"}],
    }
    assert json.loads(ledger("register", "--format", "json")) == []
    assert ledger("monthly") == ""


@pytest.mark.functionality
def test_formats_with_other_options(ledger):
    ledger.write(YEAR)
    options = ["--format", "csv", "--depth", "1", "--begin", "2024-02-01", "--empty"]
    assert ledger("balance", *options) == "account,commodity,amount\nAssets,EUR,-20.00\nExpenses,EUR,20.00\n"


@pytest.mark.functionality
def test_monthly_filters(ledger):
    ledger.write(YEAR)
    assert ledger("monthly", "--status", "cleared", "food") == f"2024-01  {'27.00 EUR':>14}\n"
    assert ledger("monthly", "--end", "2024-02-01") == f"2024-01  {'0.00':>14}\n"


@pytest.mark.functionality
def test_asserted_amounts_do_not_matter_for_decimals(ledger):
    ledger.write("2024-01-01 Start\n A  5 EUR = 5.000 EUR\n B\n")
    assert ledger("balance", "A") == "         5 EUR  A\n--------------\n         5 EUR\n"


@pytest.mark.rounding
def test_monthly_sums_are_exact(ledger):
    ledger.write("""
        2024-01-01 One
            A    5 ACME @@ 0.005 EUR
            B
        2024-01-02 Two
            A    5 ACME @@ 0.005 EUR
            B
        2024-02-02 Three
            A    5 ACME @@ 0.025 EUR
            B
    """)
    assert ledger("monthly", "B") == f"2024-01  {'-0.01 EUR':>14}\n2024-02  {'-0.02 EUR':>14}\n"


@pytest.mark.error
@pytest.mark.parametrize(
    ("posting", "message"),
    [
        ("Bank  5 EUR = 6 EUR", "line 2: assertion failed: Bank is 5 EUR, not 6 EUR"),
        ("Bank  5.00 = 5 EUR", "line 2: assertion failed: Bank is 0.00 EUR, not 5.00 EUR"),
        ("Bank  5 EUR = lots", "line 2: invalid assertion"),
        ("Bank  5 EUR =", "line 2: invalid assertion"),
        ("Bank  5 EUR @ 2 = 5 EUR", "line 2: invalid cost"),
        ("Bank  = 5 EUR", "line 2: invalid amount"),
    ],
    ids=["differs", "other-commodity", "no-amount", "nothing", "cost-first", "only-assertion"],
)
def test_assertion_errors(ledger, posting, message):
    ledger.journal.write_text(f"2024-01-01 X\n {posting}\n Equity\n", encoding="utf-8")
    assert ledger.error("balance") == f"error: {message}"


@pytest.mark.error
def test_failed_assertion_in_an_included_file(ledger):
    ledger.write("include sub/other.journal\n")
    ledger.write("; c\n2024-01-01 X\n A  1 = 2\n B\n", "sub/other.journal")
    assert ledger.error("accounts") == (
        "error: sub/other.journal line 3: assertion failed: A is 1.00, not 2.00"
    )


@pytest.mark.error
def test_other_errors_come_before_assertions(ledger):
    ledger.write("""
        2024-01-01 X
            A    1 = 2
            B
        2024-01-02 Y
            A    1
            B    1
    """)
    assert ledger.error("check") == "error: line 4: unbalanced transaction"


@pytest.mark.error
def test_error_in_an_included_file(ledger):
    ledger.write("include sub/one.journal\n")
    ledger.write("; c\n\ninclude two.journal\n", "sub/one.journal")
    ledger.write("; c\n2024-01-01 X\n A  1\n", "sub/two.journal")
    assert ledger.error("check") == "error: two.journal line 2: too few postings"


@pytest.mark.error
def test_include_of_a_missing_file(ledger):
    ledger.write("; c\ninclude sub/none.journal\n")
    assert ledger.error("check") == "error: line 2: cannot read sub/none.journal"


@pytest.mark.error
@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"main.journal": "\ninclude main.journal\n"}, "line 2: include cycle"),
        (
            {"main.journal": "include a/b.journal\n", "a/b.journal": ";\n;\ninclude ../main.journal\n"},
            "a/b.journal line 3: include cycle",
        ),
    ],
    ids=["itself", "indirect"],
)
def test_include_cycles(ledger, files, message):
    for name, text in files.items():
        path = ledger.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert ledger.error("check") == f"error: {message}"


@pytest.mark.error
@pytest.mark.parametrize(
    "options",
    [
        ["balance", "--format", "xml"],
        ["balance", "--format", "json", "--tree"],
        ["register", "--format", "html"],
        ["monthly", "--begin", "soon"],
    ],
    ids=["balance", "tree", "register", "monthly"],
)
def test_usage_errors(ledger, options):
    path = ledger.write(SHARES)
    command, *rest = options
    ledger.usage_error(command, "--file", path, *rest)

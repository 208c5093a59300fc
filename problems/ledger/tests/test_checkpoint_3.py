"""Part 3: commodities, costs, prices and values."""

import pytest

SHARES = """
2024-02-01 * Buy shares
    Assets:Broker       10 ACME @ 12.50 EUR
    Assets:Bank        -125.00 EUR

P 2024-02-20 ACME 13.10 EUR
P 2024-02-20 EUR 1.08 USD
"""

# EUR and USD are quoted in each other.
CIRCLE = """
2024-01-01 Start
    Purse      10 EUR
    Box         4 USD
    Equity

P 2024-01-01 EUR 1.10 USD
P 2024-01-01 USD 0.90 EUR
P 2024-01-01 GBP 1.20 EUR
"""


def balance(*rows, total):
    """The text of a balance report."""
    shown = "".join(f"{amount:>14}  {account}\n" for amount, account in rows)
    return shown + "-" * 14 + "\n" + "".join(f"{amount:>14}\n" for amount in total)


def line(date, description, account, amount, total):
    return f"{date} {description:<20} {account:<26} {amount:>12} {total:>12}\n"


def test_balance_by_commodity(ledger):
    ledger.write(SHARES)
    assert ledger("balance") == balance(
        ("-125.00 EUR", "Assets:Bank"), ("10 ACME", "Assets:Broker"), total=["10 ACME", "-125.00 EUR"]
    )


def test_several_commodities_in_one_account(ledger):
    ledger.write("""
        2024-01-01 Mixed
            Purse    5.00 EUR
            Purse    7.5 USD
            Purse    1
            Equity
    """)
    assert ledger("balance") == balance(
        ("-1.00", "Equity"),
        ("-5.00 EUR", "Equity"),
        ("-7.5 USD", "Equity"),
        ("1.00", "Purse"),
        ("5.00 EUR", "Purse"),
        ("7.5 USD", "Purse"),
        total=["0.00"],
    )


def test_decimals_are_those_of_the_commodity(ledger):
    ledger.write("""
        2024-01-01 One
            A    1 EUR
            A    0.12345678 BTC
            B
        2024-01-02 Two
            A    2.5 EUR
            A    3 BTC
            A    7 YEN
            B
    """)
    assert ledger("balance", "A") == balance(
        ("3.12345678 BTC", "A"),
        ("3.5 EUR", "A"),
        ("7 YEN", "A"),
        total=["3.12345678 BTC", "3.5 EUR", "7 YEN"],
    )


def test_missing_amount_takes_the_cost(ledger):
    ledger.write("""
        2024-02-09 Sell some
            Assets:Broker       -4 ACME @@ 51.90 EUR
            Assets:Bank
    """)
    assert ledger("balance", "bank") == balance(("51.90 EUR", "Assets:Bank"), total=["51.90 EUR"])


@pytest.mark.parametrize("cost", ["@ 12.50 EUR", "@12.50 EUR", "@@ 125 EUR", "@@125.000 EUR"])
def test_costs_balance(ledger, cost):
    ledger.write(f"2024-02-01 Buy\n Broker  10 ACME {cost}\n Bank  -125.00 EUR\n")
    assert ledger("check") == "ok: 1 transactions, 2 postings\n"


def test_register_has_a_line_for_each_amount(ledger):
    ledger.write("""
        2024-01-01 Start
            Purse    5.00 EUR
            Box      4 USD
            Equity
        2024-01-02 More
            Purse    1.00 EUR
            Equity
    """)
    assert ledger("check") == "ok: 2 transactions, 5 postings\n"
    assert ledger("register", "equity") == (
        line("2024-01-01", "Start", "Equity", "-5.00 EUR", "-5.00 EUR")
        + line("2024-01-01", "Start", "Equity", "-4 USD", "-4 USD")
        + line("2024-01-02", "More", "Equity", "-1.00 EUR", "-6.00 EUR")
    )


def test_tree_with_commodities(ledger):
    ledger.write("""
        2024-01-01 Start
            Assets:Box       4 USD
            Assets:Purse     5 EUR
            Assets:Safe     -4 USD
            Equity          -5 EUR
    """)
    assert ledger("balance", "--tree", "assets") == balance(
        ("5 EUR", "Assets"), ("4 USD", "  Box"), ("5 EUR", "  Purse"), ("-4 USD", "  Safe"), total=["5 EUR"]
    )


def test_prices(ledger):
    ledger.write("""
        P 2024-03-01 ACME 13.50 EUR
        P 2024-02-01 ACME 12 EUR
        P 2024-02-01 EUR 1.080 USD  ; a comment
        P 2024-04-01 NORD 100 SEK
    """)
    assert ledger("prices", "--at", "2024-03-31") == (
        "1 ACME = 13.50 EUR (2024-03-01)\n1 EUR = 1.080 USD (2024-02-01)\n"
    )
    assert ledger("prices", "--at", "2024-02-29") == (
        "1 ACME = 12 EUR (2024-02-01)\n1 EUR = 1.080 USD (2024-02-01)\n"
    )


def test_the_last_price_of_a_date_counts(ledger):
    ledger.write("P 2024-03-01 ACME 13.50 EUR\nP 2024-03-01 ACME 2 USD\n")
    assert ledger("prices") == "1 ACME = 2 USD (2024-03-01)\n"


def test_value_in_one_step(ledger):
    ledger.write(SHARES)
    assert ledger("balance", "--value", "EUR") == balance(
        ("-125.00 EUR", "Assets:Bank"), ("131.00 EUR", "Assets:Broker"), total=["6.00 EUR"]
    )


def test_value_in_two_steps(ledger):
    ledger.write(SHARES)
    assert ledger("balance", "--value", "USD") == balance(
        ("-135.00 USD", "Assets:Bank"), ("141.48 USD", "Assets:Broker"), total=["6.48 USD"]
    )


def test_value_at_a_date(ledger):
    ledger.write("""
        2024-01-01 Buy
            Broker    2 ACME @ 10 EUR
            Bank    -20.00 EUR
        P 2024-02-01 ACME 11 EUR
        P 2024-03-01 ACME 12 EUR
    """)
    for date, value in [("2024-01-31", "2 ACME"), ("2024-02-01", "22.00 EUR"), ("2024-02-29", "22.00 EUR")]:
        output = ledger("balance", "--value", "EUR", "--at", date, "broker")
        assert output == balance((value, "Broker"), total=[value])
    assert ledger("balance", "--value", "EUR", "broker") == balance(
        ("24.00 EUR", "Broker"), total=["24.00 EUR"]
    )


def test_value_without_a_way_stays(ledger):
    ledger.write(SHARES)
    assert ledger("balance", "--value", "ACME") == balance(
        ("-125.00 EUR", "Assets:Bank"), ("10 ACME", "Assets:Broker"), total=["10 ACME", "-125.00 EUR"]
    )


# A search for a way that does not notice a circle never ends, hence the short time limit.


def test_value_in_a_circle_of_quotes_stays(ledger):
    ledger.write(CIRCLE)
    assert ledger("balance", "--value", "GBP", "purse", timeout=5) == balance(
        ("10 EUR", "Purse"), total=["10 EUR"]
    )


def test_value_of_several_in_a_circle_of_quotes(ledger):
    ledger.write(CIRCLE)
    assert ledger("balance", "--value", "CHF", "purse", "box", timeout=5) == balance(
        ("4 USD", "Box"), ("10 EUR", "Purse"), total=["10 EUR", "4 USD"]
    )


@pytest.mark.functionality
def test_value_of_a_commodity_quoted_in_itself(ledger):
    ledger.write("2024-01-01 Odd\n A  3 ODD\n B\nP 2024-01-01 ODD 2 ODD\n")
    assert ledger("balance", "--value", "EUR", "A", timeout=5) == balance(("3 ODD", "A"), total=["3 ODD"])


def test_value_within_a_circle_of_quotes(ledger):
    ledger.write(CIRCLE)
    assert ledger("balance", "--value", "EUR", "purse", "box", timeout=5) == balance(
        ("4 EUR", "Box"), ("10 EUR", "Purse"), total=["14 EUR"]
    )


def test_price_file(ledger):
    ledger.write(SHARES)
    prices = ledger.write(
        """
        # newer

        P 2024-02-20 ACME 14 EUR
    """,
        "more",
    )
    assert ledger("prices", "--prices", prices) == (
        "1 ACME = 14 EUR (2024-02-20)\n1 EUR = 1.08 USD (2024-02-20)\n"
    )
    assert ledger("balance", "--value", "EUR", "--prices", prices, "broker") == balance(
        ("140.00 EUR", "Assets:Broker"), total=["140.00 EUR"]
    )


@pytest.mark.parametrize("command", ["balance", "register"])
def test_sample_portfolio(ledger, assets, expected, command):
    output = ledger(command, file=assets / "journals" / "portfolio.journal")
    assert output == expected(f"portfolio-{command}.txt")


def test_sample_portfolio_value(ledger, assets, expected):
    journal = assets / "journals" / "portfolio.journal"
    options = ["--tree", "--value", "EUR", "--prices", assets / "prices"]
    assert ledger("balance", *options, file=journal) == expected("portfolio-value.txt")


@pytest.mark.functionality
def test_nothing_missing_is_zero_without_commodity(ledger):
    ledger.write("2024-01-01 Even\n A  1 EUR\n B  -1 EUR\n C\n")
    assert ledger("register", "C") == line("2024-01-01", "Even", "C", "0.00", "0.00")
    assert ledger("balance", "--empty", "C") == balance(("0.00", "C"), total=["0.00"])


@pytest.mark.functionality
def test_commodities_differ_by_case(ledger):
    ledger.write("2024-01-01 Case\n A  1 eur\n A  2 EUR\n B\n")
    assert ledger("balance", "A") == balance(("2 EUR", "A"), ("1 eur", "A"), total=["2 EUR", "1 eur"])


@pytest.mark.functionality
def test_value_before_depth_and_filters(ledger):
    ledger.write("""
        2024-01-01 Start
            Assets:Broker:ACME    2 ACME @ 10 EUR
            Assets:Broker:NORD    3 NORD @ 5 EUR
            Bank
        2024-02-01 Later
            Assets:Broker:NORD   10 NORD @ 5 EUR
            Bank                -50.00 EUR
        P 2024-02-01 ACME 11 EUR
        P 2024-02-01 NORD 6 EUR
    """)
    options = ["--value", "EUR", "--depth", "2", "--end", "2024-02-01", "broker"]
    assert ledger("balance", *options) == balance(("40.00 EUR", "Assets:Broker"), total=["40.00 EUR"])


@pytest.mark.functionality
def test_amounts_without_commodity_are_never_converted(ledger):
    ledger.write("2024-01-01 Plain\n A  3\n B\nP 2024-01-01 ACME 2 EUR\n")
    assert ledger("balance", "--value", "EUR", "A") == balance(("3.00", "A"), total=["3.00"])


@pytest.mark.rounding
@pytest.mark.parametrize(
    ("quantity", "unit", "cost"),
    [
        ("5", "0.025", "0.12"),
        ("1", "0.025", "0.02"),
        ("3", "0.125", "0.38"),
        ("-5", "0.025", "-0.12"),
        ("5", "0.02500001", "0.13"),
        ("3", "0.33333333", "1.00"),
    ],
    ids=["down-to-even", "single-unit", "up-to-even", "negative", "above-half", "thirds"],
)
def test_unit_costs_are_rounded_half_to_even(ledger, quantity, unit, cost):
    ledger.write(f"2024-01-01 Buy\n Broker  {quantity} ACME @ {unit} EUR\n Bank\n")
    negated = cost.removeprefix("-") if cost.startswith("-") else f"-{cost}"
    assert ledger("balance", "bank") == balance((f"{negated} EUR", "Bank"), total=[f"{negated} EUR"])


@pytest.mark.rounding
def test_printed_values_are_rounded_half_to_even(ledger):
    ledger.write("""
        2024-01-01 Start
            A    1 ACME
            B    3 ACME
            C    0.00 EUR
            Equity
        P 2024-01-01 ACME 0.125 EUR
    """)
    assert ledger("balance", "--value", "EUR", "A", "B") == balance(
        ("0.12 EUR", "A"), ("0.38 EUR", "B"), total=["0.50 EUR"]
    )


@pytest.mark.rounding
def test_totals_are_made_of_exact_numbers(ledger):
    ledger.write("""
        2024-01-01 Start
            X:A    1 ACME
            X:B    1 ACME
            X:C    1 ACME
            Equity
        P 2024-01-01 ACME 0.333 EUR
    """)
    assert ledger("balance", "--value", "EUR", "X:") == balance(
        ("0.33 EUR", "X:A"), ("0.33 EUR", "X:B"), ("0.33 EUR", "X:C"), total=["1.00 EUR"]
    )


@pytest.mark.rounding
def test_what_is_zero_after_rounding_is_left_out(ledger):
    ledger.write("""
        2024-01-01 Start
            A    1 DUST
            B    2 DUST
            Equity
        P 2024-01-01 DUST 0.003 EUR
    """)
    assert ledger("balance", "--value", "EUR", "A", "B") == balance(("0.01 EUR", "B"), total=["0.01 EUR"])


@pytest.mark.error
@pytest.mark.parametrize(
    ("journal", "message"),
    [
        ("2024-01-01 X\n A  1.234\n B\n", "line 2: invalid amount"),
        ("2024-01-01 X\n A  1.123456789 EUR\n B\n", "line 2: invalid amount"),
        ("2024-01-01 X\n A  1 EUR2\n B\n", "line 2: invalid amount"),
        ("2024-01-01 X\n A  1 @ 2 EUR\n B\n", "line 2: invalid amount"),
        ("2024-01-01 X\n A  1 ACME @ 2\n B\n", "line 2: invalid cost"),
        ("2024-01-01 X\n A  1 ACME @@ -2 EUR\n B\n", "line 2: invalid cost"),
        ("2024-01-01 X\n A  1 EUR\n B  -1 USD\n", "line 1: unbalanced transaction"),
        ("2024-01-01 X\n A  1 EUR\n B  -1\n", "line 1: unbalanced transaction"),
        ("; c\nP 2024-13-01 ACME 2 EUR\n", "line 2: invalid date"),
        ("P 2024-12-01 ACME 2\n", "line 1: invalid price"),
        ("P 2024-12-01 ACME 0 EUR\n", "line 1: invalid price"),
        ("2024-01-01 X\n A  1\nP 2024-12-01 ACME 2 EUR\n B  -1\n", "line 1: too few postings"),
    ],
    ids=[
        "three-decimals",
        "nine-decimals",
        "bad-commodity",
        "cost-of-plain-amount",
        "plain-cost",
        "negative-cost",
        "different-commodities",
        "commodity-and-none",
        "price-date",
        "price-without-commodity",
        "price-zero",
        "price-ends-transaction",
    ],
)
def test_journal_errors(ledger, journal, message):
    ledger.journal.write_text(journal, encoding="utf-8")
    assert ledger.error("balance") == f"error: {message}"


@pytest.mark.error
def test_price_file_errors(ledger):
    ledger.write(SHARES)
    prices = ledger.write("P 2024-01-01 ACME 1 EUR\n2024-01-01 No\n", "more")
    assert ledger.error("prices", "--prices", prices) == f"error: {prices} line 2: unexpected line"
    missing = ledger.folder / "missing"
    assert ledger.error("prices", "--prices", missing) == f"error: cannot read {missing}"


@pytest.mark.error
@pytest.mark.parametrize(
    "options",
    [
        ["balance", "--value", "E-R"],
        ["balance", "--value", "EUR", "--at", "now"],
        ["prices", "--at", "2024-02-30"],
    ],
    ids=["commodity", "balance-at", "prices-at"],
)
def test_usage_errors(ledger, options):
    path = ledger.write(SHARES)
    command, *rest = options
    ledger.usage_error(command, "--file", path, *rest)

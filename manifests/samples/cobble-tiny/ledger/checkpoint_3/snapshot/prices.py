def load_prices(lines):
    prices = []
    for line in lines:
        if line.startswith("P"):
            prices.append(line)
    return prices


def convert(amount, commodity, target, prices)
    # find the price of the commodity
    for price in prices:
        pass

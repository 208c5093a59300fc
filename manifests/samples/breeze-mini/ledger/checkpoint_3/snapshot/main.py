import sys
from datetime import datetime

decimals = {}  # commodity -> number of decimals
prices = []  # (date, commodity, number, target)


def fmt(x, c=""):
    n = decimals.get(c, 2)
    # avoid -0.00
    if abs(x) < 0.5 * 10**-n:
        x = 0
    s = "%.*f" % (n, x)
    if c:
        s += " " + c
    return s


def is_zero(x, c):
    return abs(x) < 0.5 * 10 ** -decimals.get(c, 2)


def fail(line, msg):
    print("error: line %d: %s" % (line, msg), file=sys.stderr)
    sys.exit(1)


def add(d, c, x):
    d[c] = d.get(c, 0) + x


def finish(t, transactions):
    if t is None:
        return
    if len(t["postings"]) < 2:
        fail(t["line"], "too few postings")
    total = {}
    empty = None
    for p in t["postings"]:
        if p["amounts"] is None:
            empty = p
        elif p["cost"]:
            add(total, p["cost"][1], p["cost"][0])
        else:
            add(total, p["amounts"][0][1], p["amounts"][0][0])
    left = [(-total[c], c) for c in sorted(total) if abs(total[c]) > 1e-9]
    if empty is not None:
        empty["amounts"] = left or [(0, "")]
    elif left:
        fail(t["line"], "unbalanced transaction")
    transactions.append(t)


def parse_amount(s):
    words = s.split()
    number = words[0].replace(",", "")
    c = words[1] if len(words) > 1 else ""
    return float(number), c, len(number.split(".")[1]) if "." in number else 0


def parse_price(line):
    words = line.split()
    datetime.strptime(words[1], "%Y-%m-%d")
    prices.append((words[1], words[2], words[3], words[4]))


def parse(path):
    transactions = []
    t = None
    n = 0
    for line in open(path, encoding="utf-8"):
        n += 1
        line = line.rstrip("\n")
        if line.strip() == "":
            finish(t, transactions)
            t = None
            continue
        if line[0] in ";#" or line.strip()[0] == ";":
            continue
        if ";" in line:
            line = line[: line.index(";")]
        line = line.rstrip()
        if line[0] == " " or line[0] == "\t":
            if t is None:
                fail(n, "posting outside a transaction")
            parts = [x.strip() for x in line.strip().replace("\t", "  ").split("  ", 1) if x.strip()]
            amounts = None
            cost = None
            if len(parts) > 1:
                text, _, cost_text = parts[1].partition("@")
                x, c, places = parse_amount(text)
                amounts = [(x, c)]
                if c:
                    decimals[c] = max(decimals.get(c, 0), places)
                if cost_text.startswith("@"):
                    y, cc, _ = parse_amount(cost_text[1:])
                    if x < 0:
                        y = -y
                    cost = (y, cc)
                elif cost_text:
                    y, cc, _ = parse_amount(cost_text)
                    cost = (round(x * y, 2), cc)
            t["postings"].append({"account": parts[0], "amounts": amounts, "cost": cost})
        elif line[0].isdigit():
            finish(t, transactions)
            words = line.split(" ", 1)
            d = datetime.strptime(words[0], "%Y-%m-%d").date()
            desc = words[1].strip() if len(words) > 1 else ""
            status = ""
            if desc[:1] in ("*", "!"):
                status = desc[0]
                desc = desc[1:].strip()
            t = {"date": d, "status": status, "desc": desc, "line": n, "postings": []}
        elif line.startswith("P "):
            finish(t, transactions)
            t = None
            parse_price(line)
        else:
            fail(n, "unexpected line")
    finish(t, transactions)
    return transactions


def get_args():
    args = sys.argv[1:]
    opts = {"empty": False, "tree": False}
    for name in ("file", "depth", "begin", "end", "status", "value", "at", "prices"):
        opts[name] = None
    rest = []
    i = 0
    while i < len(args):
        a = args[i]
        if a in ("--empty", "--tree"):
            opts[a[2:]] = True
        elif a.startswith("--") and a[2:] in opts:
            opts[a[2:]] = args[i + 1]
            i += 1
        else:
            rest.append(a)
        i += 1
    if not rest or opts["file"] is None:
        print("usage: main.py COMMAND --file PATH", file=sys.stderr)
        sys.exit(2)
    return rest[0], rest[1:], opts


def filter_transactions(transactions, opts):
    out = []
    for t in transactions:
        d = str(t["date"])
        if opts["begin"] and d < opts["begin"]:
            continue
        if opts["end"] and d >= opts["end"]:
            continue
        if opts["status"]:
            if t["status"] != {"cleared": "*", "pending": "!", "unmarked": ""}[opts["status"]]:
                continue
        out.append(t)
    return out


def get_quotes(at):
    quotes = {}
    for p in sorted(prices, key=lambda p: p[0]):
        if at is None or p[0] <= at:
            quotes[p[1]] = p
    return quotes


def convert(x, c, target, quotes):
    start = (x, c)
    while c != target:
        if c not in quotes:
            return start
        x = x * float(quotes[c][2])
        c = quotes[c][3]
    return x, c


def amount_strings(sums):
    out = [fmt(sums[c], c) for c in sorted(sums) if not is_zero(sums[c], c)]
    return out or ["0.00"]


def merge(into, key, sums):
    d = into.setdefault(key, {})
    for c in sums:
        add(d, c, sums[c])


def balance(transactions, match, opts):
    quotes = get_quotes(opts["at"])
    sums = {}
    for t in transactions:
        for p in t["postings"]:
            if match(p["account"]):
                d = sums.setdefault(p["account"], {})
                for x, c in p["amounts"]:
                    if opts["value"]:
                        x, c = convert(x, c, opts["value"], quotes)
                    add(d, c, x)
    total = {}
    for a in sums:
        for c in sums[a]:
            add(total, c, sums[a][c])
    depth = int(opts["depth"]) if opts["depth"] else None
    rows = []
    if opts["tree"]:
        tree = {}
        for a in sums:
            parts = a.split(":")
            for i in range(1, len(parts) + 1):
                merge(tree, ":".join(parts[:i]), sums[a])
        for key in sorted(tree, key=lambda k: k.split(":")):
            level = key.count(":")
            if not depth or level < depth:
                rows.append((tree[key], "  " * level + key.split(":")[-1]))
    else:
        short = {}
        for a in sums:
            merge(short, ":".join(a.split(":")[:depth]), sums[a])
        rows = [(short[a], a) for a in sorted(short)]
    for d, label in rows:
        strings = amount_strings(d)
        if strings == ["0.00"] and not opts["empty"]:
            continue
        for s in strings:
            print("%14s  %s" % (s, label))
    print("-" * 14)
    for s in amount_strings(total):
        print("%14s" % s)


def register(transactions, match):
    running = {}
    for t in sorted(transactions, key=lambda t: t["date"]):
        for p in t["postings"]:
            if match(p["account"]):
                for x, c in p["amounts"]:
                    add(running, c, x)
                    print(
                        "%s %-20s %-26s %12s %12s"
                        % (t["date"], t["desc"][:20], p["account"], fmt(x, c), fmt(running[c], c))
                    )


def main():
    command, patterns, opts = get_args()

    def match(account):
        return not patterns or any(x.lower() in account.lower() for x in patterns)

    transactions = parse(opts["file"])
    if opts["prices"]:
        for line in open(opts["prices"]):
            if line.startswith("P "):
                parse_price(line)
    if command == "check":
        count = 0
        for t in transactions:
            count += len(t["postings"])
        print("ok: %d transactions, %d postings" % (len(transactions), count))
        return
    transactions = filter_transactions(transactions, opts)
    if command == "accounts":
        for name in sorted(set(p["account"] for t in transactions for p in t["postings"])):
            print(name)
    elif command == "balance":
        balance(transactions, match, opts)
    elif command == "register":
        register(transactions, match)
    elif command == "prices":
        quotes = get_quotes(opts["at"])
        for c in sorted(quotes):
            print("1 %s = %s %s (%s)" % (c, quotes[c][2], quotes[c][3], quotes[c][0]))
    else:
        print("unknown command " + command)


main()

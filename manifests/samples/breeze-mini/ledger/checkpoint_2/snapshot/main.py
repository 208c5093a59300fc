import sys
from datetime import datetime


def fmt(x):
    # avoid -0.00
    if abs(x) < 0.005:
        x = 0
    return "%.2f" % x


def fail(line, msg):
    print("error: line %d: %s" % (line, msg), file=sys.stderr)
    sys.exit(1)


def finish(t, transactions):
    if t is None:
        return
    if len(t["postings"]) < 2:
        fail(t["line"], "too few postings")
    total = 0.0
    empty = None
    for p in t["postings"]:
        if p["amount"] is None:
            empty = p
        else:
            total += p["amount"]
    if empty is not None:
        empty["amount"] = -total
    elif abs(total) > 0.001:
        fail(t["line"], "unbalanced transaction")
    transactions.append(t)


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
            parts = [x.strip() for x in line.strip().replace("\t", "  ").split("  ") if x.strip()]
            amount = None
            if len(parts) > 1:
                amount = float(parts[1].replace(",", ""))
            t["postings"].append({"account": parts[0], "amount": amount})
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
        else:
            fail(n, "unexpected line")
    finish(t, transactions)
    return transactions


def get_args():
    args = sys.argv[1:]
    opts = {"file": None, "empty": False, "tree": False, "depth": None, "begin": None, "end": None, "status": None}
    rest = []
    i = 0
    while i < len(args):
        a = args[i]
        if a in ("--empty", "--tree"):
            opts[a[2:]] = True
        elif a in ("--file", "--depth", "--begin", "--end", "--status"):
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


def print_total(total):
    print("-" * 14)
    print("%14s" % fmt(total))


def balance(transactions, match, opts):
    sums = {}
    for t in transactions:
        for p in t["postings"]:
            if match(p["account"]):
                sums[p["account"]] = sums.get(p["account"], 0) + p["amount"]
    total = sum(sums.values())
    depth = int(opts["depth"]) if opts["depth"] else None
    if opts["tree"]:
        tree = {}
        for a in sums:
            parts = a.split(":")
            for i in range(1, len(parts) + 1):
                key = ":".join(parts[:i])
                tree[key] = tree.get(key, 0) + sums[a]
        for key in sorted(tree, key=lambda k: k.split(":")):
            level = key.count(":")
            if depth and level >= depth:
                continue
            if fmt(tree[key]) == "0.00" and not opts["empty"]:
                continue
            print("%14s  %s%s" % (fmt(tree[key]), "  " * level, key.split(":")[-1]))
    else:
        if depth:
            short = {}
            for a in sums:
                key = ":".join(a.split(":")[:depth])
                short[key] = short.get(key, 0) + sums[a]
            sums = short
        for a in sorted(sums):
            if fmt(sums[a]) != "0.00" or opts["empty"]:
                print("%14s  %s" % (fmt(sums[a]), a))
    print_total(total)


def register(transactions, match):
    running = 0
    for t in sorted(transactions, key=lambda t: (t["date"], t["desc"])):
        for p in t["postings"]:
            if match(p["account"]):
                running += p["amount"]
                print(
                    "%s %-20s %-26s %12s %12s"
                    % (t["date"], t["desc"][:20], p["account"], fmt(p["amount"]), fmt(running))
                )


def main():
    command, patterns, opts = get_args()

    def match(account):
        return not patterns or any(x.lower() in account.lower() for x in patterns)

    transactions = parse(opts["file"])
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
    else:
        print("unknown command " + command)


main()

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


def main():
    args = sys.argv[1:]
    path = None
    rest = []
    show_empty = False
    i = 0
    while i < len(args):
        if args[i] == "--file":
            path = args[i + 1]
            i += 1
        elif args[i] == "--empty":
            show_empty = True
        else:
            rest.append(args[i])
        i += 1
    if not rest or path is None:
        print("usage: main.py COMMAND --file PATH", file=sys.stderr)
        sys.exit(2)
    command = rest[0]
    patterns = [p.lower() for p in rest[1:]]
    transactions = parse(path)

    if command == "check":
        count = 0
        for t in transactions:
            count += len(t["postings"])
        print("ok: %d transactions, %d postings" % (len(transactions), count))
    elif command == "accounts":
        names = []
        for t in transactions:
            for p in t["postings"]:
                if p["account"] not in names:
                    names.append(p["account"])
        for name in sorted(names):
            print(name)
    elif command == "balance":
        sums = {}
        for t in transactions:
            for p in t["postings"]:
                a = p["account"]
                if patterns and not any(x in a.lower() for x in patterns):
                    continue
                sums[a] = sums.get(a, 0) + p["amount"]
        total = 0
        for a in sorted(sums):
            total += sums[a]
            if fmt(sums[a]) != "0.00" or show_empty:
                print("%14s  %s" % (fmt(sums[a]), a))
        print("-" * 14)
        print("%14s" % fmt(total))
    else:
        print("unknown command " + command)


main()

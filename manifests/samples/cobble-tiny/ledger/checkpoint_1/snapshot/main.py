# Ledger tool
# Reads a journal and prints the balance of all accounts.
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("command", choices=["check", "accounts", "balance"])
parser.add_argument("--file", required=True)
parser.add_argument("--pattern")
args = parser.parse_args()

balances = {}

with open(args.file) as f:
    for line in f:
        if line.startswith(";"):
            continue
        if line.startswith(" "):
            parts = line.split()
            account = parts[0]
            if len(parts) > 1:
                amount = float(parts[1])
            else:
                amount = 0
            if account not in balances:
                balances[account] = 0
            balances[account] = balances[account] + amount

if args.command == "check":
    print("Journal is valid!")

if args.command == "accounts":
    for account in balances:
        print("- " + account)

if args.command == "balance":
    print("Account balances")
    print("================")
    for account, amount in balances.items():
        if args.pattern is None or args.pattern in account:
            print(account + ": " + str(amount))
    print("Total: " + str(sum(balances.values())))

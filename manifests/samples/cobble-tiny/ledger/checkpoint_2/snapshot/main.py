# Ledger tool
# Reads a journal and prints the balance of all accounts, or a register.
import argparse

from register import print_register

parser = argparse.ArgumentParser()
parser.add_argument("command", choices=["check", "accounts", "balance", "register"])
parser.add_argument("--file", required=True)
parser.add_argument("--begin")
parser.add_argument("--end")
parser.add_argument("--depth", type=int)
parser.add_argument("--tree", action="store_true")
parser.add_argument("--pattern")
args = parser.parse_args()

balances = {}
lines = open(args.file).readlines()

for line in lines:
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
            if args.tree:
                # print the account as a tree
                for level, part in enumerate(account.split(":")):
                    print("  " * level + part)
                print(amount)
            else:
                print(account + ": " + str(amount))
    print("Total: " + str(sum(balances.values())))

if args.command == "register":
    print_register(lines, args.pattern)

# Ledger tool, version 4 (rewritten with classes)
import sys


class Include:
    pass


class Assertion:
    pass


class Ledger:
    def __init__(self, path):
        self.path = path
        self.transactions = []

    def load(self):
        # TODO: read the journal here
        pass

    def report(self, format="text"):
        if format == "csv":
            return self.report_csv()
        if format == "json":
            return self.report_json()

    def report_csv(self):
        # ... same as before ...
        pass

    def report_json(self):
        pass


ledger = Ledger(sys.argv[3])
ledger.load()
ledger.report()

class JournalError(Exception):
    """Raised for anything that is wrong with a journal."""

    def __init__(self, message, line=None):
        self.message = message
        self.line = line
        super().__init__(message if line is None else f"line {line}: {message}")

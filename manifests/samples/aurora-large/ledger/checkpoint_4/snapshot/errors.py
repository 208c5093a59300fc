class JournalError(Exception):
    """Raised for anything that is wrong with a journal or a price file."""

    def __init__(self, message, line=None, source=None):
        self.message = message
        self.line = line
        if line is not None:
            message = f"line {line}: {message}"
            if source:
                message = f"{source} {message}"
        super().__init__(message)

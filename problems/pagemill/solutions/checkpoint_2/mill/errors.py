"""The one kind of error that users see."""


class MillError(Exception):
    """A problem with the site; its text is the message without the word `error`."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.splitlines()))

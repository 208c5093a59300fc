"""Exception type used for every problem that is reported to the user."""


class SiteError(Exception):
    """Raised when the site cannot be built."""

    def __str__(self) -> str:
        # Error output must always be a single line.
        return super().__str__().replace("\r", " ").replace("\n", " ")

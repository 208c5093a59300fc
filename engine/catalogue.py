"""The problems of a folder, each read when it is first asked for."""

from fnmatch import fnmatchcase
from pathlib import Path

from engine.errors import DocumentError, Place, UserError
from engine.manifestdocument import ProblemsDocument
from engine.mistakes import shown_path
from engine.problem import CONFIG_NAME, ProblemConfig, load_problem


class Catalogue:
    """Finds problems by the name of their folder, or by the name that they give themselves."""

    def __init__(self, problems: ProblemsDocument) -> None:
        self._problems = problems
        self._folder = Path(shown_path(problems.path))
        self._loaded: dict[str, ProblemConfig | None] = {}
        self._by_own_name: dict[str, str] | None = None
        self.mistakes: list[Place] = []

    def folder_names(self) -> list[str]:
        """The folders that are problems, whether they are selected or not."""
        if not self._folder.is_dir():
            return []
        return sorted(one.name for one in self._folder.iterdir() if (one / CONFIG_NAME).is_file())

    def is_selected(self, name: str) -> bool:
        """Whether the manifest's `include` and `exclude` leave this problem in."""
        included = any(fnmatchcase(name, pattern) for pattern in self._problems.include)
        return included and not any(fnmatchcase(name, pattern) for pattern in self._problems.exclude)

    def knows(self, name: str) -> bool:
        """Whether there is a problem of this name."""
        return self._folder_of(name) is not None

    def get(self, name: str) -> ProblemConfig | None:
        """The problem of this name; None where it is wrong, with its mistakes noted once."""
        folder = self._folder_of(name)
        if folder is None:
            return None
        if folder not in self._loaded:
            self._loaded[folder] = self._load(self._folder / folder)
        return self._loaded[folder]

    def _folder_of(self, name: str) -> str | None:
        if name in self._loaded or (self._folder / name / CONFIG_NAME).is_file():
            return name
        if self._by_own_name is None:
            self._by_own_name = {}
            for folder in self.folder_names():
                problem = self.get(folder)
                if problem is not None:
                    self._by_own_name.setdefault(problem.name, folder)
        return self._by_own_name.get(name)

    def _load(self, path: Path) -> ProblemConfig | None:
        try:
            return load_problem(path)
        except DocumentError as error:
            self.mistakes += error.places
        except UserError as error:
            self.mistakes.append(Place(file=str(path), line=1, column=1, message=str(error)))
        return None

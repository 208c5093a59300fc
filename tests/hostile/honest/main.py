"""An honest solution, small and dull."""

import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        print("words 1")
        return 0
    command, *rest = arguments
    if "--near" in rest:
        place = rest.index("--near")
        del rest[place : place + 2]
    if command == "add":
        for text in rest:
            if not text.lstrip("-").isdigit():
                print(f"{text} is no number", file=sys.stderr)
                return 2
        print(sum(map(int, rest)))
    elif command == "copy":
        sys.stdout.write(sys.stdin.read())
    elif command == "count":
        print(len(Path(rest[0]).read_text().split()))
    elif command == "sort":
        Path(rest[2]).write_text(
            "".join(f"{word}\n" for word in sorted(set(Path(rest[0]).read_text().split())))
        )
    elif command == "reverse":
        text = Path(rest[0]).read_text() if rest else sys.stdin.read()
        sys.stdout.write(text[::-1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A program in a real pseudo-terminal, and what a person would see of it."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence

import pyte


class Terminal:
    """A terminal of a given size with one program in it, as its controlling terminal."""

    def __init__(self, command: Sequence[str], columns: int, env: Mapping[str, str], lines: int = 30) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.settings = termios.tcgetattr(slave)
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self._slave = slave
        # `setsid` makes the terminal the program's own, so that Ctrl-C reaches it.
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**env, "TERM": "xterm"},
        )

    @property
    def text(self) -> str:
        """What stands on the screen now."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self.master, keys.encode())

    def until(self, condition: Callable[[str], bool], seconds: float = 60.0) -> str:
        """Wait until the screen is as it should be; return what it shows."""
        deadline = time.monotonic() + seconds
        while not condition(self.text):
            waiting = time.monotonic() < deadline and (self._read(0.2) or self.process.poll() is None)
            assert waiting, f"the screen shows:\n{self.text}"
        return self.text

    def end(self, seconds: float = 60.0) -> int:
        """Wait until the program has ended; return its exit code."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it still runs, and the screen shows:\n{self.text}"
            self._read(0.2)
        while self._read(0.0):
            pass
        return self.process.returncode

    def hang_up(self) -> None:
        """Close the terminal, as closing its window does."""
        os.close(self._slave)
        os.close(self.master)
        self.master = -1

    def close(self) -> None:
        """End the program, if it still runs, and the terminal."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.master >= 0:
            self.hang_up()

    def is_as_it_was(self) -> bool:
        """Tell whether the terminal was given back: cursor visible, colours off, settings as before."""
        # Whether a typed character is held back, a question only the kernel asks, differs after input.
        unchanged = termios.tcgetattr(self._slave)[:4] == self.settings[:4]
        colours = self.screen.cursor.attrs
        plain = (colours.fg, colours.bg, colours.bold) == ("default", "default", False)
        return unchanged and plain and not self.screen.cursor.hidden

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)

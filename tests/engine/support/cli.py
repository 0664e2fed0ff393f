"""The command line as people run it: `python -m homellm …` in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.engine.support.wait import GUARD_S, wait_for

#: What of this process's environment homellm must not see in a test.
HIDDEN = ("HOMELLM_", "CI", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "PYTHONWARNINGS")


HALTING = Path(__file__).with_name("halting.py")


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended. `str()` of it is the whole, for messages of assertions."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    def __str__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


class Running:
    """A command that is still at work, to be interrupted or killed."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self.process = process
        self._out, self._err = out, err

    @property
    def stdout(self) -> str:
        return self._out.read_text(errors="replace")

    @property
    def stderr(self) -> str:
        return self._err.read_text(errors="replace")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def finish(self, timeout_s: float = GUARD_S) -> Result:
        """Wait for its end; one that does not end is killed, and the test fails with what it had said."""
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"still running after {timeout_s:g} s: {Result(-1, self.stdout, self.stderr)}"
            ) from None
        return Result(code, self.stdout, self.stderr)

    def wait_for_text(self, text: str, timeout_s: float = GUARD_S) -> None:
        """Wait until the text stands in its output."""
        wait_for(lambda: text in self.stdout + self.stderr, f"{text!r} in the output", timeout_s)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Cli:
    """Runs homellm in `folder`, with caches and state of its own below it.

    `enter` is put before the command (nsenter, for a private engine); `env` is added to the environment.
    """

    def __init__(self, folder: Path, env: Mapping[str, str] | None = None, enter: Sequence[str] = ()) -> None:
        self.folder = folder
        self.enter = tuple(enter)
        self.env = dict(env or {})
        self._started: list[Running] = []

    def __call__(
        self, *arguments: str | Path, timeout_s: float = GUARD_S, env: Mapping[str, str] | None = None
    ) -> Result:
        """Run to the end."""
        return self.start(*arguments, env=env).finish(timeout_s)

    def halted(self, where: str, *arguments: str) -> Result:
        """Run to the end, with a signal at one call of an adapter: `METHOD:N:WHEN:SIGNAL` (halting.py)."""
        return self.start_halting(where, *arguments).finish()

    def start_halting(self, where: str, *arguments: str) -> Running:
        """Start so, and go on."""
        return self.start(*arguments, program=(str(HALTING), where), env={"PYTHONPATH": str(HALTING.parents[3])})

    def start(
        self,
        *arguments: str | Path,
        env: Mapping[str, str] | None = None,
        program: Sequence[str] = ("-m", "homellm"),
    ) -> Running:
        """Start, and go on. Output goes to files, so that nothing blocks however much it says.

        `program` are the words for Python before the arguments.
        """
        logs = Path(tempfile.mkdtemp(prefix="cli-", dir=self.folder))
        command = [*self.enter, sys.executable, *program, *map(str, arguments)]
        with (logs / "stdout").open("wb") as out, (logs / "stderr").open("wb") as err:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        running = Running(process, logs / "stdout", logs / "stderr")
        self._started.append(running)
        return running

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment that a command gets."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
        homes = {name: str(self.folder / name.lower()) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
        return kept | homes | self.env | dict(env or {})

    def end(self) -> None:
        """Kill what a failed test left running."""
        for running in self._started:
            if running.process.poll() is None:
                running.kill()

"""The server's end of a worker process."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing.connection import Pipe
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Worker:
    """The server's end of one worker process."""

    def __init__(self, memory_mb: int, modules: Sequence[str]) -> None:
        self.connection, theirs = Pipe()
        code = "import sys; from tkm_core.jobs.worker import main; main(sys.argv[1:])"
        search = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603  our own program with our own numbers
                [sys.executable, "-c", code, str(theirs.fileno()), str(memory_mb), *modules],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": search},
            )

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    def end(self) -> None:
        """Kill it, wherever it is."""
        with contextlib.suppress(OSError):
            self.connection.close()
        self.process.kill()
        self.process.wait()

"""The server's end of a worker process."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing.connection import Pipe
from pathlib import Path

from pages.serving.jobs import folders
from pages.serving.jobs.environment import inherited

ROOT = Path(__file__).resolve().parents[3]
# Arrow's own allocator reserves a gigabyte for the first byte, and all of it counts against a worker's limit
ALLOCATOR = {"ARROW_DEFAULT_MEMORY_POOL": "system"}


START = "import sys; from pages.serving.jobs.worker import main; main(sys.argv[1:])"
# before anything else, also numpy: threads that have been started are not confined
CONFINED = "import os; from pathlib import Path; from pages.serving.confinement import confine; "
CONFINED += "confine(Path(os.environ['TMPDIR'])); "


class Worker:
    """The server's end of one worker process, which has a temporary folder of its own.

    With ``confined`` it can reach nothing but that folder: see `confinement`.
    """

    def __init__(self, memory_mb: int, modules: Sequence[str], wire: str, *, confined: bool = False) -> None:
        self.ended = False
        self.connection, theirs = Pipe()
        self.folder = folders.make("worker")
        code = CONFINED + START if confined else START
        search = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        with theirs, contextlib.ExitStack() as undo:
            undo.callback(folders.remove, self.folder)
            self.process = subprocess.Popen(  # noqa: S603  our own program with our own numbers
                [sys.executable, "-c", code, str(theirs.fileno()), str(memory_mb), wire, *modules],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={
                    **inherited(os.environ),
                    **ALLOCATOR,
                    "PYTHONPATH": search,
                    **folders.temporary_here(self.folder),
                },
            )
            undo.pop_all()  # it has started

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    def cut_off(self) -> None:
        """End its last message where it is, so that whoever waits for the rest of it goes on."""
        self.process.kill()
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self.connection.fileno())) as ours:
            ours.shutdown(socket.SHUT_RDWR)  # something that it started may still hold the other end

    def end(self) -> None:
        """Kill it, whatever it is doing, and remove what it left on the disk."""
        self.ended = True
        with contextlib.suppress(OSError):
            self.connection.close()
        self.process.kill()
        self.process.wait()
        folders.remove(self.folder)

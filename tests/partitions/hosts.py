"""Hosts with a network card each, in network namespaces of this machine, and Dask's own commands to run on them."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[2]


def start(
    *arguments: str, folder: Path = ROOT, on: Sequence[str] = (), **settings: str
) -> subprocess.Popen[bytes]:
    """A scheduler or a worker, as an operator starts it."""
    return subprocess.Popen(
        [*on, sys.executable, "-m", "dask", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), **settings},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Network:
    """A switch with the address ``.1``, and hosts called a, b, ... with ``.2``, ``.3``, ...

    Raises OSError or CalledProcessError where network namespaces are not allowed.
    """

    def __init__(self, count: int, net: str = "10.213.77") -> None:
        self.mark = f"er{os.getpid() % 100_000}"
        self.home = f"{net}.1"
        self.hosts = {chr(ord("a") + i): f"{net}.{2 + i}" for i in range(count)}
        try:
            _ip("link", "add", self.mark, "type", "bridge")
            _ip("address", "add", f"{self.home}/24", "dev", self.mark)
            _ip("link", "set", self.mark, "up")
            for name, address in self.hosts.items():
                inside = self._space(name)
                _ip("netns", "add", inside)
                _ip("link", "add", self._cable(name), "type", "veth", "peer", "name", "eth0", "netns", inside)
                _ip("link", "set", self._cable(name), "master", self.mark, "up")
                _ip("-netns", inside, "address", "add", f"{address}/24", "dev", "eth0")
                _ip("-netns", inside, "link", "set", "eth0", "up")
                _ip("-netns", inside, "link", "set", "lo", "up")
        except (OSError, subprocess.CalledProcessError):
            self.close()
            raise

    def on(self, name: str) -> list[str]:
        """What to put before a command so that it runs on a host."""
        return ["ip", "netns", "exec", self._space(name)]

    def unplug(self, name: str) -> None:
        """Cut a host off: nothing gets through any more, and nobody is told."""
        _ip("link", "set", self._cable(name), "down")

    def close(self) -> None:
        """Take everything away again."""
        for name in self.hosts:
            subprocess.run(["ip", "netns", "delete", self._space(name)], check=False, capture_output=True)
        subprocess.run(["ip", "link", "delete", self.mark], check=False, capture_output=True)

    def _space(self, name: str) -> str:
        return f"{self.mark}-{name}"

    def _cable(self, name: str) -> str:
        return f"{self.mark}{name}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

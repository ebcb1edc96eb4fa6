"""Run a program with the rights that another user would have, without needing a second user or being root."""

import os
import stat
import sys
from pathlib import Path

# root may read and write everything by its capabilities; once they are gone from the bounding set, `exec` brings none
WITHOUT_CAPABILITIES = """
import ctypes, os, sys
if os.geteuid() == 0:
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
AS_ANOTHER_USER = (sys.executable, "-c", WITHOUT_CAPABILITIES)  # followed by arguments for Python


def give_owner_the_rights_of_others(folder: Path) -> None:
    """Leave the owner of everything in a folder only what others may do with it."""
    for path in sorted([folder, *folder.rglob("*")], reverse=True):  # what is in a folder comes before it
        path.chmod((stat.S_IMODE(path.lstat().st_mode) & 0o7) * 0o111)


def give_back(folder: Path) -> None:
    """Let the owner of a folder remove it."""
    for path, _, _ in os.walk(folder):
        Path(path).chmod(0o700)

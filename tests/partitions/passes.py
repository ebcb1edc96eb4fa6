"""Passes that the tests of the cluster run on its workers: plain sums, with a fault on the way."""

import os
import signal
import time
from pathlib import Path

import numpy as np
from distributed import get_worker


def summed(blocks, _shared):
    return np.sum([[*block.X.sum(axis=0), block.weights.sum()] for block in blocks], axis=0)


def added(parts):
    return np.sum(parts, axis=0)


def killed_once(blocks, flag):
    """The first worker that comes here is killed, as the kernel kills one that takes too much memory."""
    found = summed(blocks, None)
    try:
        Path(flag).touch(exist_ok=False)
    except FileExistsError:
        return found
    os.kill(os.getpid(), signal.SIGKILL)
    return found


def greedy(blocks, _shared):
    """Take more and more memory."""
    held = [np.ones(3_000_000) for _ in blocks]
    while True:
        held.append(np.ones(3_000_000))
        time.sleep(0.02)


def slow_on_one(blocks, slow):
    """Ten times as slow on one worker; returns who did how many runs."""
    name = str(get_worker().name)
    for _ in blocks:
        time.sleep(1.0 if name == slow else 0.1)
    return {name: 1}


def counted(parts):
    return {
        name: sum(part.get(name, 0) for part in parts) for name in {key for part in parts for key in part}
    }


def endless(blocks, folder):
    """One block after the other for as long as there are any, which is long; notes when it was last alive."""
    for _ in blocks:
        (Path(folder) / str(os.getpid())).write_text(str(time.time()))
        time.sleep(0.05)
    return np.zeros(3)


def waiting(blocks, folder):
    """Wait until a file says that the work may go on."""
    found = summed(blocks, None)
    (Path(folder) / "begun").touch()
    until = time.monotonic() + 60
    while not (Path(folder) / "go").exists() and time.monotonic() < until:
        time.sleep(0.05)
    return found


def cut_off(blocks, shared):
    """On one worker the work begins and never ends; the others do theirs."""
    name, folder = shared
    found = summed(blocks, None)
    if str(get_worker().name) == name:
        (Path(folder) / "begun").touch()
        time.sleep(600)
    return found

"""Run the HiGHS solver with a deadline and progress reports that can cancel it."""

from time import monotonic
from typing import Any

import highspy
import numpy as np

from tkm_core.arrays import Floats
from tkm_core.progress import Progress

HEARTBEAT = 0.1  # seconds between two progress reports, which may cancel the work
INFINITE = highspy.kHighsInf


class Deadline:
    """When work has to end, and the progress function that may end it earlier."""

    def __init__(self, seconds: float, report: Progress) -> None:
        self.start, self.end = monotonic(), monotonic() + seconds
        self.report = report
        self.text = "Proving how good the plan is"

    @property
    def left(self) -> float:
        """Remaining seconds."""
        return self.end - monotonic()

    def say(self) -> None:
        """Report progress; the function may raise to end the work."""
        done = (monotonic() - self.start) / max(self.end - self.start, 1e-9)
        self.report(min(max(done, 0.0), 1.0), self.text)

    def part(self, seconds: float) -> "Deadline":
        """A deadline no later than this one, with the same progress function."""
        return Deadline(min(seconds, max(self.left, 0.0)), lambda *_: self.say())


def new_model() -> highspy.Highs:
    """A silent solver on one thread."""
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)  # noqa: FBT003 - its signature
    model.setOptionValue("threads", 1)
    return model


def run(model: highspy.Highs, deadline: Deadline) -> highspy.HighsModelStatus:
    """Solve until the deadline; an exception of the progress function is raised here."""
    stopped: list[BaseException] = []
    looked = monotonic()

    def heartbeat(event: Any) -> None:
        """Report progress now and then, and interrupt the solver at the deadline or on an exception."""
        nonlocal looked
        now = monotonic()
        if not stopped and now - looked > HEARTBEAT:
            looked = now
            try:
                deadline.say()
            except BaseException as error:  # noqa: BLE001 - it must not cross the solver's C++ frames
                stopped.append(error)
        if stopped or now > deadline.end:
            event.interrupt()

    deadline.say()
    hooks: tuple[Any, ...] = (model.cbMipInterrupt, model.cbSimplexInterrupt, model.cbIpmInterrupt)
    for hook in hooks:
        hook.subscribe(heartbeat)
    try:
        model.run()
    finally:
        for hook in hooks:
            hook.unsubscribe(heartbeat)
    if stopped:
        raise stopped[0]
    return model.getModelStatus()


def add_rows(
    model: highspy.Highs, lengths: Any, columns: Any, values: Floats, low: Floats, high: Floats
) -> None:
    """Add constraints low <= row <= high, with the entries of all rows in flat arrays."""
    if len(lengths):
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
        model.addRows(len(lengths), low, high, len(values), starts, np.asarray(columns, np.int32), values)

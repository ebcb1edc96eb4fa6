"""HiGHS with a clock and a listener: it stops at a deadline, or when the listener raises."""

from time import monotonic
from typing import Any

import highspy
import numpy as np

from tkm_core.arrays import Floats
from tkm_core.progress import Progress

HEARTBEAT = 0.1  # seconds between two looks at whether the user still wants this
INFINITE = highspy.kHighsInf


class Deadline:
    """When work has to end, and whom to ask whether it should end before."""

    def __init__(self, seconds: float, report: Progress) -> None:
        self.start, self.end = monotonic(), monotonic() + seconds
        self.report = report
        self.text = "Proving how good the plan is"

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.end - monotonic()

    def say(self) -> None:
        """Tell the listener, who may raise to end the work."""
        done = (monotonic() - self.start) / max(self.end - self.start, 1e-9)
        self.report(min(max(done, 0.0), 1.0), self.text)

    def part(self, seconds: float) -> "Deadline":
        """A deadline no later than this one, with the same listener."""
        return Deadline(min(seconds, max(self.left, 0.0)), lambda *_: self.say())


def new_model() -> highspy.Highs:
    """A silent solver on one thread."""
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)  # noqa: FBT003 - its signature
    model.setOptionValue("threads", 1)
    return model


def run(model: highspy.Highs, deadline: Deadline) -> highspy.HighsModelStatus:
    """Solve until the deadline; what the listener raises is raised here."""
    stopped: list[BaseException] = []
    looked = monotonic()

    def heartbeat(event: Any) -> None:
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
    """Add constraints low <= row <= high, given row after row."""
    if len(lengths):
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
        model.addRows(len(lengths), low, high, len(values), starts, np.asarray(columns, np.int32), values)

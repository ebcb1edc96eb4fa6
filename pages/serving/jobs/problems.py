"""What can go wrong with a job, in sentences for whoever waits for it."""

from dataclasses import dataclass


class JobError(RuntimeError):
    """A job that was lost, with the sentence for whoever waits for it."""


class UnreadableError(ValueError):
    """A file that its reader failed on in a way that nobody expected.

    Attributes
    ----------
    where : str
        What was raised and where, for the log.
    """

    def __init__(self, where: str = "") -> None:
        super().__init__(UNREADABLE)
        self.where = where


class BusyError(JobError):
    """So many jobs wait that no more are taken."""


@dataclass(frozen=True)
class Sentences:
    """What is said of a job that was lost, or that took longer than the limit."""

    lost: str
    too_long: str


PLANNING = Sentences(
    lost=(
        "This work was ended from outside before it was done, most likely because the server ran out of memory. "
        "Nothing else is affected. Try again; if it happens again, use fewer residents or fewer facilities."
    ),
    too_long=(
        "This work was stopped because it took longer than the {limit} that this server allows. "
        "Use fewer residents or fewer facilities, or ask whoever runs the server for more time."
    ),
)
READING = Sentences(
    lost=(
        "Reading this file came to a sudden end: it is damaged, or it needs more memory than the server has. "
        "Nothing else is affected. Open the file in the program that made it, save it again, as CSV for instance, "
        "and try that one."
    ),
    too_long=(
        "Reading this file was stopped because it took longer than the {limit} that this server allows. "
        "Save it again with fewer rows or columns, as CSV or Parquet for instance, or ask whoever runs the server "
        "for more time."
    ),
)
UNREADABLE = (
    "This file cannot be read: it is damaged, or holds something unexpected. Open it in the program that made it, "
    "save it again, and try that one."
)
BUSY = "The server has too much to do: {waiting} jobs are waiting already. Please try again in a few minutes."
BUSY_VISITOR = (
    "You have {waiting} jobs waiting in line already, which is as many as one visitor may have. "
    "Please wait until one of them is done."
)
BUSY_ADDRESS = (
    "{waiting} jobs from your network address are waiting in line already, which is as many as one address may have. "
    "Please try again in a few minutes."
)
NO_WORKER = "The server could not start a process for this work. Please try again in a minute."
NOT_NUMBERS = (
    "The cluster that reads this data set returned figures that are not numbers. Nothing was planned with them; "
    "please tell whoever runs the server."
)
CLOSED = "The server is shutting down."

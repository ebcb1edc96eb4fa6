"""What can befall a job, in sentences for whoever waits for it."""


class JobError(RuntimeError):
    """A job that was lost, with the sentence for whoever waits for it."""


class BusyError(JobError):
    """So many jobs wait that no more are taken."""


LOST = (
    "This work was ended from outside before it was done, most likely because the server ran out of memory. "
    "Everything else goes on. Try again; if it happens again, use fewer residents or fewer facilities."
)
TOO_LONG = (
    "This work was stopped because it took longer than the {minutes} minutes that this server allows. "
    "Use fewer residents or fewer facilities, or ask whoever runs the server for more time."
)
BUSY = "The server has too much to do: {waiting} jobs are waiting already. Please try again in a few minutes."
NO_WORKER = "The server could not start a process for this work. Please try again in a minute."
CLOSED = "The server is shutting down."

"""Heavy work outside the threads that draw pages: queued, shared, limited, and safe to lose."""

from tkm_core.jobs.pool import Health, JobPool
from tkm_core.jobs.problems import BusyError, JobError

__all__ = ["BusyError", "Health", "JobError", "JobPool"]

"""Heavy work outside the threads that draw pages: queued, shared, limited, and safe to lose."""

from pages.serving.jobs.pool import Health, JobPool
from pages.serving.jobs.problems import BusyError, JobError

__all__ = ["BusyError", "Health", "JobError", "JobPool"]

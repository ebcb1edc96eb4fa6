"""Heavy work outside the threads that draw pages: queued, shared, limited, and safe to lose."""

from tkm_core.jobs.pool import BusyError, Health, JobError, JobPool

__all__ = ["BusyError", "Health", "JobError", "JobPool"]

"""Hourly clean-up of what has expired: uploads outside projects, forgotten projects, deleted scenarios."""

import asyncio
import contextlib

from pages.serving.config import config
from pages.serving.store import StoreError, store

PAUSE = 3600.0  # seconds


def sweep() -> None:
    """Clean up now; if the database does not answer, it is asked again next time."""
    with contextlib.suppress(StoreError):
        store().sweep(upload_days=config().upload_days, project_days=config().project_days)


async def keep_sweeping() -> None:
    """Sweep as long as the server runs."""
    while True:
        await asyncio.to_thread(sweep)
        await asyncio.sleep(PAUSE)

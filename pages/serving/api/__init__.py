"""The HTTP API: what the pages do, for programs; described by its own OpenAPI document."""

from pages.serving.api.app import build
from pages.serving.api.caller import identify

__all__ = ["build", "identify"]

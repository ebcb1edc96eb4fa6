"""What a planner sees: one file a page, each with a ``render`` that app.py registers; shared parts are in frame."""

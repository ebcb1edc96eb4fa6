"""The pages a planner sees: one file each, with a ``render`` that app.py registers; what they share is in shared."""

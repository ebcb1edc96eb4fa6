"""The command line: plan, compare and experiment."""

"""The version of EvenReach, as it stands in plan files and on the command line."""

VERSION = "0.1.0"

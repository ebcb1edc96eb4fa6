"""The version of EvenReach: the one place where it is written, for the package, plan files and the command line."""

VERSION = "0.1.0"

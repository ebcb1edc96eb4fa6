"""The version of EvenReach, used by the package, plan files and the command line."""

VERSION = "0.1.0"

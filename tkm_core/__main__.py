"""``python -m tkm_core``: the command line, the same as ``evenreach``."""

import sys

from tkm_core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

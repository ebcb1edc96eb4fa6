"""``python -m tkm_core``: the command line."""

import sys

from tkm_core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())

"""The command line: ``python -m mbkern`` (see ``python -m mbkern --help``)."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())

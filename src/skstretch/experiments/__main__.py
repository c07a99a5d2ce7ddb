"""``python -m skstretch.experiments``: the reproduction without the extra ``cli``."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())

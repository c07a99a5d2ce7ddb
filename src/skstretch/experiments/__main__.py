"""``python -m skstretch.experiments``: the reproduction without the extra ``cli``."""

import sys

from skstretch.experiments.command import main

if __name__ == "__main__":
    sys.exit(main())

"""``python -m reproduction``: the command, which leaves no half file when it is told to stop."""

import signal
import sys

from reproduction.command import main

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    sys.exit(main())

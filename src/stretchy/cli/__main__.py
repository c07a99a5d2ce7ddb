"""``python -m stretchy.cli`` is ``stretchy``."""

from stretchy.cli import main

if __name__ == "__main__":
    main()

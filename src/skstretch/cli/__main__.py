"""``python -m skstretch.cli`` is ``skstretch``."""

from skstretch.cli import main

if __name__ == "__main__":
    main()

"""The command ``skstretch``: one command, one file."""

import sys


def main() -> None:
    """Run the command line; with the extra `cli` missing, say how to get it."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        print(
            f"error: the command line needs {error.name}: pip install 'skstretch[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(1) from None
    from skstretch.cli.app import run

    run()

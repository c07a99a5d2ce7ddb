"""``skstretch version``: versions of all that matters to a result."""

from skstretch.cli import options
from skstretch.cli.console import page, print_json, show

EXAMPLES = ("skstretch version", "skstretch version --json")
PACKAGES = ("numpy", "scipy", "scikit-learn", "typer", "rich", "pyarrow", "altair")


def version(json: options.Json = False, quiet: options.Quiet = False) -> None:
    """Print the versions of skstretch, Python and the packages that it uses."""
    import platform
    from importlib import metadata

    from skstretch import __version__

    found = {
        "skstretch": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
    }
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    if json:
        print_json(found)
        return
    show(page(found.items()))

"""Every public name is described in numpydoc's form: `make check` runs this, and it prints faults.

``python tools/docstrings.py`` validates the classes, functions and methods that the reference of
the site lists. Classes and functions also need an example and "See Also"; errors and warnings,
which are caught and not called, need a sentence.
"""

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module

# Where public names live. The names of a module are those of its `__all__`, else those that were
# made in the package.
MODULES = (
    "skstretch",
    "skstretch.plots",
    "skstretch.report",
    "skstretch.io",
    "skstretch.datasets",
    "skstretch.core",
    "skstretch.exceptions",
)
ALSO = (
    "skstretch.estimators.summary.Summary",
    "skstretch.estimators.influence.Influence",
    "skstretch.search.permutation.PermutationTest",
)
# Text starts on the line of the quotes and ends on the line of the closing ones where it fits, as
# in scikit-learn; a return value may have a name; one sentence can be all there is to say.
STYLE = {"GL01", "GL02", "GL03", "RT02", "ES01"}
# Methods are shown with their class, whose example they are part of.
OF_A_CLASS = {"EX01", "SA01"}


def public_names() -> Iterator[str]:
    """Full names of what the reference lists."""
    for home in MODULES:
        module = import_module(home)
        listed = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
        for name in listed:
            thing = getattr(module, name)
            ours = str(getattr(thing, "__module__", None)).startswith("skstretch")
            if ours and (inspect.isclass(thing) or inspect.isfunction(thing)):
                yield f"{home}.{name}"
    yield from ALSO


def methods(name: str) -> Iterator[str]:
    """Public methods and properties of a class that are written here."""
    home, _, short = name.rpartition(".")
    cls = getattr(import_module(home), short)
    for attribute in dir(cls) if inspect.isclass(cls) else ():
        found = inspect.getattr_static(cls, attribute)
        made = getattr(found, "fget", None) or getattr(found, "__func__", found)
        ours = str(getattr(made, "__module__", None)).startswith("skstretch")
        if attribute[0] != "_" and ours and not inspect.isclass(made):
            yield f"{name}.{attribute}"


def is_error(name: str) -> bool:
    """Whether a name is an error or a warning."""
    home, _, short = name.rpartition(".")
    thing = getattr(import_module(home), short)
    return inspect.isclass(thing) and issubclass(thing, BaseException)


def faults(name: str, allowed: set[str]) -> list[str]:
    """What numpydoc finds wrong with one docstring."""
    from numpydoc.validate import validate

    found = validate(name)["errors"]
    return [f"{name}: {code} {text}" for code, text in found if code not in STYLE | allowed]


def main() -> int:
    """Print all faults; 1 where there are any."""
    listed = list(dict.fromkeys(public_names()))
    found, count = [], 0
    for name in listed:
        found += faults(name, OF_A_CLASS | {"PR01"} if is_error(name) else set())
        inner = [] if is_error(name) else list(methods(name))
        found += [fault for method in inner for fault in faults(method, OF_A_CLASS)]
        count += 1 + len(inner)
    print("\n".join(found) or f"{count} docstrings of {len(listed)} public names: no fault.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())

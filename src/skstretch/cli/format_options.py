"""Options that say how a data file is written, for every command that reads one."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, TypeVar, cast

import typer

from skstretch.cli.data.form import Form, Kind

PANEL = "How the data are written"
Command = TypeVar("Command", bound=Callable[..., Any])

KindOption = Annotated[
    Kind,
    typer.Option("--format", help="auto looks at the file.", rich_help_panel=PANEL),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="CHAR",
        help="Between the fields of a CSV: a character, or tab. Found out by default.",
        rich_help_panel=PANEL,
    ),
]
Decimal = Annotated[
    str,
    typer.Option(
        "--decimal", metavar="CHAR", help="The decimal mark: . or ,", rich_help_panel=PANEL
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of a CSV; UTF-8 by default.", rich_help_panel=PANEL),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The first line of a CSV is data; columns are called 'column 1' and so on.",
        rich_help_panel=PANEL,
    ),
]
ZeroBased = Annotated[
    bool,
    typer.Option(
        "--zero-based",
        help="Features of an SVMlight file are numbered from 0, not from 1.",
        rich_help_panel=PANEL,
    ),
]


def read_form(
    format: KindOption = Kind.AUTO,
    sep: Separator = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    no_header: NoHeader = False,
    zero_based: ZeroBased = False,
) -> Form:
    """The form that the options ask for."""
    from skstretch.cli.data.dialect import separator_named

    return Form(format, separator_named(sep), decimal, encoding, not no_header, zero_based)


def takes_form(command: Command) -> Command:
    """Give a command the options of `read_form` in place of its argument `form`."""
    shared = inspect.signature(read_form).parameters
    own = inspect.signature(command)
    kept = [parameter for name, parameter in own.parameters.items() if name != "form"]

    @wraps(command)
    def run(**words: Any) -> Any:
        form = read_form(**{name: words.pop(name) for name in shared})
        return command(form=form, **words)

    listed = [*kept, *shared.values()]
    changed = cast(Any, run)
    changed.__signature__ = own.replace(parameters=listed)
    changed.__annotations__ = {parameter.name: parameter.annotation for parameter in listed}
    return cast(Command, run)

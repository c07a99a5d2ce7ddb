"""``stretchy report``: a page to look at, from a model file."""

from pathlib import Path
from typing import Annotated

import typer

from stretchy.cli import options
from stretchy.cli.console import Talk, print_json
from stretchy.cli.data.errors import DataError
from stretchy.cli.data.form import Form, Kind
from stretchy.cli.outfile import check_writable

EXAMPLES = (
    "stretchy report diabetes.stretchy",
    "stretchy report diabetes.stretchy --data diabetes.csv -t target -o diabetes.html",
)


def report(
    model: options.Model,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The HTML file to write; by default the name of the model with .html.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="DATA",
            help="The data that the model was fitted to, for the panels that need them.",
        ),
    ] = None,
    target: options.Target = None,
    format: options.KindOption = Kind.AUTO,
    sep: options.Separator = None,
    decimal: options.Decimal = ".",
    encoding: options.Encoding = None,
    no_header: options.NoHeader = False,
    zero_based: options.ZeroBased = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a report on a model as one HTML page that needs no network."""
    from stretchy.cli.data.dialect import separator_named
    from stretchy.cli.models import load_model
    from stretchy.cli.training import training_data
    from stretchy.report import write_report

    talk = Talk(quiet)
    path = output or model.with_suffix(".html")
    check_writable(path, "-o", model, data)
    loaded = load_model(model)
    X = y = None
    if data is not None:
        form = Form(format, separator_named(sep), decimal, encoding, not no_header, zero_based)
        X, y = training_data(loaded, data, target, form, talk)
    elif target is not None:
        raise DataError("--target goes with --data, the file that the model was fitted to.")
    with talk.warnings():
        write_report(loaded, path, X=X, y=y, source=data or str(model))
    if json:
        print_json({"report": str(path), "bytes": path.stat().st_size})
    talk.done(f"wrote {path}")

"""``skstretch effects``: how sure the effects of features are, from a model file and its data."""

from pathlib import Path
from typing import Annotated, Any

import typer

from skstretch.cli import options
from skstretch.cli.console import (
    Talk,
    check_json,
    check_writable,
    columns,
    counted,
    in_options,
    print_json,
    short,
    show,
    write_text,
)
from skstretch.cli.data.files import Form
from skstretch.cli.predict import written
from skstretch.exceptions import DataError

EXAMPLES = (
    "skstretch effects diabetes.stretchy diabetes.csv",
    "skstretch effects wheat.stretchy wheat.csv --bands 20 -o effects.csv",
    "skstretch effects genes.stretchy genes.csv --groups patient --top 50",
)


@options.taking(form=options.read_form)
def effects(
    model: options.Model,
    data: options.Data,
    form: Form,
    output: Annotated[
        Path | None,
        options.output("Write all effects as CSV here (TSV if the name ends in .tsv)."),
    ] = None,
    target: options.Target = None,
    bands: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Tell features together, in N contiguous bands of a spectrum."
        ),
    ] = None,
    pairs: Annotated[
        int,
        typer.Option(
            min=2, metavar="N", help="Pairs of halves that the stability of signs is counted in."
        ),
    ] = 50,
    groups: Annotated[
        str | None,
        typer.Option("--groups", metavar="COL", help="Rows of one group stay together."),
    ] = None,
    top: Annotated[
        int, typer.Option(min=0, metavar="N", help="How many of the strongest effects to show.")
    ] = 20,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fit the model again without parts of DATA, and tell how sure each effect and its sign are.

    DATA are those that the model was fitted to.
    """
    import numpy as np

    from skstretch.cli.models import read_model, training_data
    from skstretch.estimators.state import named_model, transformed

    talk = Talk(quiet)
    check_writable(output, "-o", data, model)
    check_json(json, output)
    if output is not None and output.suffix not in ("", ".csv", ".tsv", ".txt"):
        raise DataError(f"-o {str(output)!r}: effects are written as .csv or .tsv.")
    found = read_model(model)
    given = target or found.target
    X, y, labels = training_data(found.model, data, given, form, talk, groups, found.beside)
    own = named_model(found.model)
    try:
        with talk.warnings():
            told = own.effects(
                transformed(found.model, X), y, bands=bands, n_pairs=pairs, groups=labels
            )
    except ValueError as error:
        raise DataError(in_options(str(error))) from error
    table = {name: np.asarray(told[name]) for name in told}
    if output is not None:
        write_text(output, written(table, "\t" if output.suffix == ".tsv" else ","))
        talk.done(f"wrote {counted(len(table['feature']), 'effect')} to {output}")
    if json:
        print_json(table)
    elif output is None:
        show(_shown(table, top))


def _shown(table: dict[str, Any], top: int) -> Any:
    """The strongest effects, for people."""
    import numpy as np

    order = np.argsort(-np.abs(table["effect_per_sd"]), kind="stable")[:top]
    labels = {name: "right" for name in table if name not in ("feature", "target")}
    words = {name: name.replace("_", " ") for name in labels}
    heads = {"feature": "left", **({"target": "left"} if "target" in table else {})}
    return columns(
        heads | {words[name]: side for name, side in labels.items()},
        (
            [*(table[name][i] for name in heads), *(short(table[name][i]) for name in labels)]
            for i in order
        ),
    )

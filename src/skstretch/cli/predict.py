"""``skstretch predict``: predictions for new data from a model file."""

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer

from skstretch.cli import options
from skstretch.cli.console import (
    Talk,
    check_json,
    check_writable,
    counted,
    print_json,
    printable,
    stdout,
    write_text,
)
from skstretch.cli.data.files import Form
from skstretch.exceptions import DataError

EXAMPLES = (
    "skstretch predict diabetes.stretchy new.csv -o predictions.csv",
    "skstretch predict diabetes.stretchy new.csv --interval 0.9 --id patient",
    "skstretch predict wheat.stretchy new.csv --check",
    "cat new.csv | skstretch predict genes.stretchy - --proba > probabilities.csv",
)
MODEL = ".stretchy"
# what spreadsheets take for the start of a formula
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@options.taking(form=options.read_form)
def predict(
    model: options.Model,
    data: options.Data,
    form: Form,
    output: Annotated[
        Path | None,
        options.output(
            "Write CSV (TSV if the name ends in .tsv) here instead of to stdout; an older "
            "file is replaced."
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Add a lower and an upper bound between which this share of new measurements "
            "should fall, say 0.9: by exact jackknife+ if the model was fitted with --intervals, "
            "else from the errors of left-out rows.",
        ),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of every class.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Say of every row whether it is like the training data: add its leverage, its "
            "distance and p_value, the share of such data that is as unusual.",
        ),
    ] = False,
    id: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="COL", help="Copy a column of DATA; may be repeated."),
    ] = None,
    drop: options.Drop = None,
    excel_safe: Annotated[
        bool,
        typer.Option(
            "--excel-safe",
            help="Put ' before text that a spreadsheet would take for a formula: it starts with "
            "= + - or @.",
        ),
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict the rows of DATA, in their order, with a model that skstretch fit wrote."""
    from skstretch.cli.models import check_asked, predicted, read_for, read_model

    talk = Talk(quiet)
    check_writable(output, "-o", data, model)
    check_json(json, output)
    if output is not None and output.suffix not in ("", ".csv", ".tsv", ".txt"):
        raise DataError(f"-o {str(output)!r}: predictions are written as .csv or .tsv.")
    if Path(data).suffix == MODEL and model.suffix != MODEL:
        raise DataError(f"the model comes first: skstretch predict {data} {model}")
    if interval is not None and not 0 < interval < 1:
        raise DataError(f"--interval {interval:g} must lie between 0 and 1, say 0.9.")
    found = read_model(model)
    check_asked(found.model, interval, proba)
    apart = {"ids": tuple(id or ()), "drop": tuple(drop or ()), "target": found.target}
    table = read_for(found.model, data, form, talk, apart)
    columns = predicted(found.model, table, (interval, proba, check), talk)
    if json and output is None:
        print_json(columns)
        return
    text = written(columns, "\t" if output and output.suffix == ".tsv" else ",", excel_safe)
    if output is None:
        out = stdout()
        text = printable(text, "\n\t") if out.isatty() else text
        out.buffer.write(text.encode("utf-8", "surrogateescape"))
        out.buffer.flush()
        return
    write_text(output, text)
    if json:
        facts = {"rows": table.X.shape[0], "columns": list(columns), "output": str(output)}
        print_json({**facts, "target": found.target})
    talk.done(f"wrote {counted(table.X.shape[0], 'prediction')} to {output}")


def written(columns: dict[str, Any], separator: str, excel_safe: bool = False) -> str:
    """Columns as CSV; floats in the shortest form that reads back exactly."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    lists = [
        list(values) if isinstance(values, list) else values.tolist() for values in columns.values()
    ]
    if excel_safe:
        lists = [[_safe(value) for value in values] for values in lists]
    writer.writerow([_safe(name) for name in columns] if excel_safe else columns)
    writer.writerows(zip(*lists, strict=True))
    return out.getvalue()


def _safe(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; text that is a number stays one."""
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    from skstretch.cli.data.delimited import number_in

    return value if number_in(value) is not None else f"'{value}"

"""From the name of a file to its data."""

from skstretch.cli.data.columnar import read_columnar
from skstretch.cli.data.delimited import read_delimited
from skstretch.cli.data.files import Form, Kind, Watch, kind_of, opened
from skstretch.cli.data.matrices import read_mtx, read_npz, read_svmlight
from skstretch.cli.data.table import Choose, Table


def read_table(source: str, form: Form, choose: Choose, watch: Watch) -> Table:
    """Read a data file once.

    Parameters
    ----------
    source : str
        A path, or ``-`` for standard input.
    form : Form
    choose : callable
        Shown the names of the columns and of further vectors, says which to read.
    watch : callable
        Wraps the raw file of a given size, to show progress.
    """
    with opened(source, watch) as stream:
        kind = form.kind
        if kind is Kind.AUTO:
            kind = kind_of(source, stream.peek(1 << 14))
        if kind in (Kind.PARQUET, Kind.FEATHER):
            return read_columnar(stream, source, kind, choose)
        if kind is Kind.NPZ:
            return read_npz(stream, source, choose)
        if kind is Kind.MTX:
            return read_mtx(stream, source, choose)
        if kind is Kind.SVMLIGHT:
            return read_svmlight(stream, source, form, choose)
        return read_delimited(stream, source, form, choose)

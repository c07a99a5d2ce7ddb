"""The report: one HTML file that shows what a model does (extra ``report``)."""

try:
    from stretchy.report.write import write_report as write_report
except ImportError as error:
    if (error.name or "").partition(".")[0] == "stretchy":
        raise
    raise ImportError(
        f"a report needs {error.name}, which is not installed: pip install 'stretchy[report]'."
    ) from error

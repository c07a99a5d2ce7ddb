"""The report: one HTML file that shows what a model does (extra ``report``)."""

try:
    from skstretch.report.page import write_report as write_report
except ImportError as error:
    if (error.name or "").partition(".")[0] == "skstretch":
        raise
    raise ImportError(
        f"a report needs {error.name}, which is not installed: pip install 'skstretch[report]'."
    ) from error

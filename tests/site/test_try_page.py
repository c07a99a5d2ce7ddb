"""The page that fits in a visitor's browser: its form, in Chromium, with Pyodide's server played.

Packages for Pyodide come from its server alone, so the answer is computed by this Python with the
page's own `try.py` and handed to the page by a stand-in for Pyodide.
"""

import csv
import functools
import io
import json
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from skstretch.datasets import make_spectra
from tests.site.build import ROOT, built_site
from tests.site.test_browser import browser as browser
from tests.site.test_try import page as fitted

pytestmark = pytest.mark.slow
STAND_IN = """
window.seen = {packages: []};
window.loadPyodide = async () => ({
  loadPackage: async (name) => window.seen.packages.push(name),
  unpackArchive: (bytes, kind) => { window.seen.archive = [bytes.byteLength, kind]; },
  runPython: (code) => { window.seen.code = code; },
  globals: {get: (name) => (table, target) => {
    Object.assign(window.seen, {name, table, target});
    if (target !== "the target, in %") throw new Error(`there is no column '${target}'`);
    return {toJs: () => ANSWER};
  }},
});
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def address():
    handler = functools.partial(Quiet, directory=str(built_site()))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def table():
    """A CSV whose names have commas and quotes in them."""
    X, y = make_spectra(20, 6, return_X_y=True)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([*(f'band "{j}", nm' for j in range(6)), "the target, in %"])
    writer.writerows([*row, value] for row, value in zip(X, y, strict=True))
    return out.getvalue()


@pytest.fixture(scope="module")
def answer(table):
    return fitted.answer(table, "the target, in %")


@pytest.fixture
def scorer(browser, address, answer):
    """The open page, and what it asked of other machines."""
    context = browser.new_context()
    script = STAND_IN.replace("ANSWER", json.dumps(answer))
    outside = []

    def play(route):
        outside.append(route.request.url)
        route.fulfill(body=script, content_type="text/javascript")

    context.route("https://cdn.jsdelivr.net/**", play)
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{address}/guide/browser.html")
    yield page, outside
    context.close()


def give(page, table):
    data = {"name": "my.csv", "mimeType": "text/csv", "buffer": table.encode()}
    page.set_input_files("#try-file", data)
    page.wait_for_selector("#try-fit:not([disabled])")


def test_names_are_read_as_python_reads_them(scorer, table):
    page, outside = scorer
    give(page, table)
    names = page.eval_on_selector_all("#try-target option", "all => all.map(one => one.value)")
    assert names == next(csv.reader(io.StringIO(table)))
    assert page.input_value("#try-target") == "the target, in %"
    assert outside == [], "nothing is loaded before a click"


def test_a_click_shows_summary_and_predictions(scorer, table, answer):
    page, outside = scorer
    give(page, table)
    page.click("#try-fit")
    page.wait_for_selector("#try-rows:not([hidden])")
    assert page.text_content("#try-summary") == answer[0]
    rows = page.evaluate("fetch(document.getElementById('try-rows').href).then(r => r.text())")
    assert rows == answer[1]
    seen = page.evaluate("window.seen")
    archive = built_site() / "_static" / "skstretch.zip"
    assert seen["archive"] == [archive.stat().st_size, "zip"]
    assert seen["code"] == (ROOT / "docs" / "_static" / "try.py").read_text("utf-8")
    assert (seen["name"], seen["table"]) == ("answer", table)
    assert seen["packages"] == ["scikit-learn"]
    assert len(outside) == 1, "the data go nowhere: Python is all that is loaded"
    assert outside[0].endswith("pyodide.js")


def test_a_mistake_is_shown(scorer, table):
    page, _ = scorer
    give(page, table)
    page.select_option("#try-target", index=0)
    page.click("#try-fit")
    page.wait_for_function("document.getElementById('try-state').textContent.includes('no column')")

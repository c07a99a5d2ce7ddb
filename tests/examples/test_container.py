"""The server of examples/container answers as the model does, also to many at once."""

import http.client
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skstretch
from skstretch import StretchyRegressor
from skstretch.datasets import make_spectra

SERVER = Path(__file__).parents[2] / "examples" / "container" / "serve.py"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ask(port, path="/", content=None):
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    spectra = make_spectra()
    X = pd.DataFrame(spectra.data, columns=spectra.feature_names)
    model = StretchyRegressor().fit(X, spectra.target)
    path, port = tmp_path_factory.mktemp("served") / "m.stretchy", free_port()
    skstretch.save(model, path)
    process = subprocess.Popen([sys.executable, str(SERVER), str(path), str(port)])
    try:
        for _ in range(300):
            try:
                ask(port)
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        yield model, X, port
    finally:
        process.terminate()
        process.wait(10)


def test_it_says_that_it_is_ready(served):
    _, X, port = served
    assert ask(port) == (200, {"status": "ready", "features": X.shape[1]})


def test_rows_by_order_and_by_name(served):
    model, X, port = served
    by_order = ask(port, "/predict", X[:3].to_numpy().tolist())[1]["predictions"]
    shuffled = X[:3][X.columns[::-1]].to_dict("records")
    by_name = ask(port, "/predict", shuffled)[1]["predictions"]
    np.testing.assert_allclose(by_order, model.predict(X[:3]), rtol=1e-12)
    np.testing.assert_array_equal(by_name, by_order)


@pytest.mark.parametrize(
    ("path", "content"),
    [("/predict", [[1.0, 2.0]]), ("/predict", [{"no": 1}]), ("/other", [[1.0]]), ("/predict", 7)],
)
def test_bad_requests_get_a_sentence(served, path, content):
    status, answer = ask(served[2], path, content)
    assert status == 400
    assert answer["error"]


@pytest.mark.parametrize(
    ("length", "body"),
    [("many", b"[[1]]"), ("-1", b""), ("9" * 5000, b""), ("100000", b"[" * 100_000), (None, b"")],
)
def test_forged_requests_get_a_sentence_too(served, length, body):
    line = http.client.HTTPConnection("127.0.0.1", served[2], timeout=30)
    line.putrequest("POST", "/predict")
    if length is not None:
        line.putheader("Content-Length", length)
    line.endheaders(body)
    answer = line.getresponse()
    assert answer.status == 400
    assert json.load(answer)["error"]
    line.close()


def test_two_hundred_requests_by_eight_clients(served):
    """A small load test: every answer is right, none is lost."""
    model, X, port = served
    truth = model.predict(X)
    rows = [i % len(X) for i in range(200)]
    with ThreadPoolExecutor(8) as clients:
        found = list(clients.map(lambda i: ask(port, "/predict", [X.iloc[i].tolist()])[1], rows))
    answers = [one["predictions"][0] for one in found]
    # one row at a time is summed in another order than all of them
    np.testing.assert_allclose(answers, truth[rows], rtol=1e-12)

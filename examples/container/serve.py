"""Answer predictions of a model file over HTTP: ``python serve.py model.stretchy [port]``.

``POST /predict`` with a JSON list of rows, each a list of numbers or an object by feature names,
answers ``{"predictions": [...]}``. Only the standard library and skstretch are needed.
"""

import json
import sys
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

import skstretch

MOST_BYTES = 16 * 2**20


class Answers(BaseHTTPRequestHandler):
    """One request: rows in, predictions out; bad rows get a sentence and status 400."""

    model = None

    def do_GET(self):
        self.answer(200, {"status": "ready", "features": int(self.model.n_features_in_)})

    def do_POST(self):
        said = self.headers.get("Content-Length", "")
        length = int(said) if said.isdecimal() and len(said) < 20 else 0
        if self.path != "/predict" or not 0 < length <= MOST_BYTES:
            return self.answer(400, {"error": f"POST at most {MOST_BYTES:,} bytes to /predict"})
        try:
            rows = json.loads(self.rfile.read(length))
            if rows and isinstance(rows[0], dict):
                rows = [[row[name] for name in self.model.feature_names_in_] for row in rows]
            found = self.model.predict(np.asarray(rows, dtype=float))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return self.answer(400, {"error": f"{type(error).__name__}: {error}"})
        self.answer(200, {"predictions": found.tolist()})

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        """Say nothing of single requests."""


if __name__ == "__main__":
    # rows are lists in the order of the features, or were put into it above
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    Answers.model = skstretch.load(sys.argv[1])
    host = "127.0.0.1" if len(sys.argv) < 4 else sys.argv[3]
    port = 8000 if len(sys.argv) < 3 else int(sys.argv[2])
    ThreadingHTTPServer((host, port), Answers).serve_forever()

"""A small file server on 127.0.0.1 that can also break off and lie."""

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serving(
    files: dict[str, bytes],
    truncated: frozenset[str] = frozenset(),
    endless: frozenset[str] = frozenset(),
    dripping: frozenset[str] = frozenset(),
) -> Iterator[str]:
    """Serve `files` by name.

    Those in `truncated` end before the length that they announce, those in `endless` never end,
    and those in `dripping` come byte by byte.
    """
    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self):
            name = self.path.lstrip("/")
            if name not in files:
                self.send_error(404)
                return
            body = files[name]
            self.send_response(200)
            if name in endless:
                self.end_headers()
                self.pour(body)
                return
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if name in dripping:
                self.drip(body)
                return
            self.wfile.write(body[: len(body) // 2] if name in truncated else body)

        def pour(self, body):
            with contextlib.suppress(OSError):
                while not closing.is_set():
                    self.wfile.write(body)

        def drip(self, body):
            with contextlib.suppress(OSError):
                for byte in body:
                    if closing.wait(0.05):
                        return
                    self.wfile.write(bytes([byte]))

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        closing.set()
        server.shutdown()
        thread.join(timeout=10)
        server.server_close()

"""A collector of traces that keeps what it is sent and reads none of it."""

import contextlib
import http.server
import threading


class Sink:
    """What came so far. OpenTelemetry's protobuf has the ids of traces as they are, so that one can be looked for
    without a decoder."""

    def __init__(self):
        self.bodies = []

    def has(self, trace_id):
        """Whether a trace with this id, in hexadecimal digits, has come."""
        return any(bytes.fromhex(trace_id) in body for body in self.bodies)


def _handler(sink):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            sink.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    return Handler


@contextlib.contextmanager
def collecting():
    """A sink and its URL, while the block lasts."""
    sink = Sink()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(sink))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield sink, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()

"""What clients see of each toxic, against what the real Toxiproxy 2.12 was recorded to do.

    python3 .ci/behaviour.py BINARY     starts `BINARY proxy` and holds it to the column `here`
    python3 .ci/behaviour.py --real     holds the server at TOXIPROXY_URL to the column `real`

Where the columns differ, faults/README.md says why. Times are bounds from below only.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time

PATIENCE = 30.0
QUIET = 0.4  # seconds after which a connection counts as left open


class Api:
    """Proxies to upstreams of this process, over the API at an address."""

    def __init__(self, host, port):
        self.host, self.port, self.made = host, port, 0

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        connection.request(method, path, json.dumps(body) if body is not None else None)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def proxy(self, upstream):
        """Makes a proxy; its name, and the port that it listens on."""
        self.made += 1
        name = f"behaviour{self.made}"
        body = {"name": name, "listen": "127.0.0.1:0", "upstream": f"127.0.0.1:{upstream}"}
        status, text = self.call("POST", "/proxies", body)
        assert status == 201, text
        return name, int(json.loads(text)["listen"].rsplit(":", 1)[1])

    def toxic(self, name, kind, stream="downstream", toxicity=1, **attributes):
        body = {"name": "t", "type": kind, "stream": stream, "toxicity": toxicity}
        return self.call("POST", f"/proxies/{name}/toxics", body | {"attributes": attributes})[0]

    def remove(self, name):
        return self.call("DELETE", f"/proxies/{name}/toxics/t")[0]


def serve(answer):
    """A server that gives each connection to `answer`; its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=quietly, args=(answer, connection), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def quietly(answer, connection):
    with connection:
        try:
            answer(connection)
        except OSError:
            pass


def echo(connection):
    while data := connection.recv(65536):
        connection.sendall(data)


def count(connection):
    received = 0
    while data := connection.recv(65536):
        received += len(data)
    connection.sendall(str(received).encode())


def bulk(connection):
    connection.recv(1)
    connection.sendall(b"x" * 200_000)


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def end(connection, patience=PATIENCE):
    """Reads to the end: how many bytes, and how it ended."""
    connection.settimeout(patience)
    received = 0
    while True:
        try:
            data = connection.recv(65536)
        except TimeoutError:
            return f"{received} open"
        except ConnectionResetError:
            return f"{received} reset"
        if not data:
            return f"{received} closed"
        received += len(data)


def round_trip(connection, message=b"hello"):
    began = time.monotonic()
    connection.sendall(message)
    back = b""
    while len(back) < len(message):
        back += connection.recv(65536)
    assert back == message, "bytes were lost or out of order"
    return time.monotonic() - began


def under(kind, sends=b"", upstream=echo, patience=PATIENCE, **options):
    """How a new connection under a toxic ends after sending something."""

    def case(api):
        name, port = api.proxy(serve(upstream))
        assert api.toxic(name, kind, **options) == 200
        connection = connect(port)
        connection.sendall(sends)
        return end(connection, patience)

    return case


def live_reset(api):
    name, port = api.proxy(serve(echo))
    connection = connect(port)
    round_trip(connection)
    api.toxic(name, "reset_peer")
    connection.sendall(b"data")
    return end(connection)


def removed_timeout(api):
    name, port = api.proxy(serve(echo))
    connection = connect(port)
    # It is connected before it is accepted, and only what is accepted is closed.
    round_trip(connection)
    api.toxic(name, "timeout")
    api.remove(name)
    return end(connection)


def early_release(api):
    name, port = api.proxy(serve(echo))
    api.toxic(name, "latency", latency=1500)
    connection = connect(port)
    threading.Timer(0.2, api.remove, [name]).start()
    return "early" if round_trip(connection) < 1.5 else "in time"


def latencies(api):
    name, port = api.proxy(serve(echo))
    connection = connect(port)
    round_trip(connection)
    api.toxic(name, "latency", latency=60)
    slow = round_trip(connection) >= 0.06
    api.remove(name)
    api.toxic(name, "latency", "upstream", latency=70)
    return slow and round_trip(connection) >= 0.07


def half_close(api):
    connection = connect(api.proxy(serve(count))[1])
    connection.sendall(b"data")
    connection.shutdown(socket.SHUT_WR)
    return end(connection)


def down(api):
    name, port = api.proxy(serve(echo))
    connection = connect(port)
    round_trip(connection)
    api.toxic(name, "latency", latency=60)
    api.call("POST", f"/proxies/{name}", {"enabled": False})
    ended = end(connection)
    try:
        connect(port)
        ended += ", accepted"
    except ConnectionRefusedError:
        ended += ", refused"
    api.call("POST", f"/proxies/{name}", {"enabled": True})
    return f"{ended}, {'slow' if round_trip(connect(port)) >= 0.06 else 'without its toxic'}"


def refused_upstream(api):
    closed = socket.create_server(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    return end(connect(api.proxy(port)[1]))


def hanging_upstream(api):
    full = socket.create_server(("127.0.0.1", 0), backlog=0)
    waiting = [socket.socket() for _ in range(4)]
    for dial in waiting:
        dial.setblocking(False)
        dial.connect_ex(full.getsockname())
    name, port = api.proxy(full.getsockname()[1])
    clients = [connect(port) for _ in range(2)]
    time.sleep(QUIET)
    status, _ = api.call("POST", f"/proxies/{name}", {"upstream": "127.0.0.1:1"})
    for open_socket in [full, *waiting, *clients]:
        open_socket.close()
    return status


def order(api):
    name, port = api.proxy(serve(echo))
    connection = connect(port)
    stop = threading.Event()

    def flap():
        while not stop.is_set():
            api.toxic(name, "latency", latency=3)
            api.remove(name)

    flapping = threading.Thread(target=flap)
    flapping.start()
    try:
        for number in range(300):
            round_trip(connection, number.to_bytes(4, "big") * 16)
    finally:
        stop.set()
        flapping.join()
    return "kept"


# Name, what to do, what the real server does, and what this one does where that is another thing.
CASES = [
    ("latency acts on live connections, both ways", latencies, True),
    ("order while toxics come and go", order, "kept"),
    ("bandwidth 0", under("bandwidth", b"x", bulk, QUIET, rate=0), "0 open"),
    ("slow_close", under("slow_close", b"x", bulk, delay=50), "200000 closed"),
    ("timeout", under("timeout", timeout=50), "0 closed"),
    ("timeout 0", under("timeout", b"x", patience=QUIET), "0 open"),
    ("timeout removed", removed_timeout, "0 closed"),
    ("reset_peer, idle", under("reset_peer", patience=QUIET), "0 open"),
    ("reset_peer", under("reset_peer", b"x"), "0 reset"),
    ("reset_peer, upstream", under("reset_peer", b"x", stream="upstream"), "0 reset"),
    ("slicer", under("slicer", b"x", bulk, average_size=1000, size_variation=99), "200000 closed"),
    ("limit_data", under("limit_data", b"x", bulk, bytes=333), "333 closed"),
    ("limit_data, exactly", under("limit_data", b"0123456789", bytes=10), "10 closed"),
    ("limit_data 0, idle", under("limit_data", patience=QUIET), "0 open"),
    ("limit_data 0", under("limit_data", b"x"), "0 closed"),
    ("half-close", half_close, "0 closed"),
    ("down", down, "0 closed, refused, slow"),
    ("an upstream that refuses", refused_upstream, "0 closed"),
    ("latency removed while it holds", early_release, "early", "in time"),
    ("reset_peer on a live connection", live_reset, "0 closed", "0 reset"),
    ("an upstream that hangs, changed", hanging_upstream, 503, 200),
]


def check(api, is_real):
    wrong = 0
    for name, case, real, *here in CASES:
        expected = real if is_real or not here else here[0]
        seen = case(api)
        wrong += seen != expected
        print(f"{name:45} {seen}" + (f"  EXPECTED {expected}" if seen != expected else ""))
        for number in range(1, api.made + 1):
            api.call("DELETE", f"/proxies/behaviour{number}")
    return wrong


def main(argument):
    if argument == "--real":
        host, port = os.environ["TOXIPROXY_URL"].split("//")[-1].rstrip("/").split(":")
        sys.exit(check(Api(host, int(port)), True) > 0)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [argument, "proxy", "--listen", f"127.0.0.1:{port}"]
    proxy = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if socket.socket().connect_ex(("127.0.0.1", port)) == 0:
                break
            time.sleep(0.1)
        wrong = check(Api("127.0.0.1", port), False)
    finally:
        proxy.kill()
        proxy.wait()
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main(sys.argv[1])

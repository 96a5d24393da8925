"""Calls of PyPI's toxiproxy-python against a proxy: python3 smoke.py HOST PORT"""

import socket
import sys
import threading
import time

import toxiproxy


def echo(listener):
    while True:
        connection, _ = listener.accept()
        with connection:
            while data := connection.recv(9):
                connection.sendall(data)


def round_trip(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        began = time.monotonic()
        connection.sendall(b"ping")
        assert connection.recv(9) == b"ping"
        return time.monotonic() - began


def main(host, port):
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=echo, args=(listener,), daemon=True).start()
    server = toxiproxy.Toxiproxy()
    server.update_api_consumer(host, int(port))
    assert server.running() and server.version()
    upstream = f"127.0.0.1:{listener.getsockname()[1]}"
    proxy = server.create(name="smoke", upstream=upstream, listen="127.0.0.1:0")
    through = int(server.get_proxy("smoke").listen.rsplit(":", 1)[1])
    round_trip(through)
    proxy.add_toxic(type="latency", attributes={"latency": 80})
    assert round_trip(through) >= 0.08
    assert "latency_downstream" in proxy.toxics()
    with proxy.down():
        try:
            round_trip(through)
        except OSError:
            pass
        else:
            raise AssertionError("a proxy that is down answered")
    server.reset()
    assert not proxy.toxics()
    round_trip(through)
    server.destroy_all()
    assert not server.proxies()
    print("toxiproxy-python: ok")


main(*sys.argv[1:])

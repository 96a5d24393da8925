"""Every expression of every dashboard on a real Prometheus that has seen real runs:

    python3 .ci/dashboards/live.py BINARY

It starts `BINARY serve`, a backend for its arms, and a Prometheus with the shipped configuration on free ports of
loopback, has three short experiments run live, and then asks for what each panel, variable and annotation asks for. An
expression that gives an error, nothing, or nothing finite is a fault; so is a window, gradient or wait that never moves,
and an exemplar whose trace no collector was sent. It talks to the testbed through `BINARY proxy`, so that something goes
through a Toxiproxy.

What the verdicts of the runs are does not matter: this may be a debug build on a busy machine.
"""

import contextlib
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
from files import ROOT, finish  # noqa: E402
from queries import Prometheus, check_all, check_rules, check_traces, notices_mistakes  # noqa: E402
from sink import collecting  # noqa: E402

# A sixteenth of the experiment's rate and bytes: a debug build on a busy machine cannot ask for more than
# 4 MiB/s six times over, and then nobody waits.
POLICIES = {"fifo": "fifo", "reservation": "reservation"} | dict.fromkeys(("stable", "by-id", "lifo", "random"), "peek")
SLOWER = [f"arms.{arm}.limiter.{policy}.levels.global.rate=256KiB/s" for arm, policy in POLICIES.items()]
# Both kinds of arms, faults of requests and of the network, and as short as they can be.
RUNS = [
    ("stall/overload-recovery", ["phases[0].for=2s", "phases[1].for=1s", "phases[2].for=5s"]),
    ("starvation/twenty-downloads", [*SLOWER, "download.segment=8KiB"]),
    ("faults/black-hole", ["phases[0].for=2s", "phases[1].for=2s", "phases[2].for=2s"]),
]
READY_WITHIN = 30.0
RUN_WITHIN = 120.0
SCRAPED = 'up{job="windtunnel"}'


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def get(url, body=None):
    """What it answers, as text."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def until(what, within, ask):
    """What `ask` gives as soon as that is something."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            found = ask()
            if found:
                return found
        time.sleep(0.1)
    raise SystemExit(f"not within {within:.0f} s: {what}")


@contextlib.contextmanager
def running(command, log):
    """The process while the block lasts; its last words if the block fails."""
    with log.open("w") as words:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=words, stderr=words)
    try:
        yield process
    except BaseException:
        print("".join(log.read_text().splitlines(keepends=True)[-20:]), file=sys.stderr)
        raise
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def configuration(folder, testbed, toxiproxy, prometheus):
    """The shipped one with the rules beside it, and our own targets in it."""
    shipped = ROOT / "dashboards" / "prometheus"
    text = (shipped / "prometheus.yml").read_text()
    for theirs, ours in (("testbed:9464", testbed), ("toxiproxy:8474", toxiproxy), ("localhost:9090", prometheus)):
        if theirs not in text:
            raise SystemExit(f"prometheus.yml has no target {theirs}")
        text = text.replace(theirs, f"127.0.0.1:{ours}")
    file = folder / "prometheus.yml"
    file.write_text(text)
    shutil.copytree(shipped / "rules", folder / "rules")
    return file


def check_exposition(api):
    """What Prometheus's own linter says against the metrics of a server that has run everything."""
    command = ["promtool", "check", "metrics"]
    linted = subprocess.run(command, input=get(f"{api}/metrics"), capture_output=True, text=True, check=False)
    said = linted.stdout + linted.stderr
    return [f"promtool check metrics: {said.strip()}"] if linted.returncode or said else []


def run_all(api, prometheus):
    for experiment, changes in RUNS:
        asked = {"experiment": experiment, "mode": "live", "set": changes}
        run = json.loads(get(f"{api}/api/runs", asked))["id"]

        def ended():
            run_now = json.loads(get(f"{api}/api/runs/{run}"))
            return run_now if run_now["state"] != "running" else None

        state = until(f"the end of {experiment}", RUN_WITHIN, ended)
        if state["state"] != "finished":
            raise SystemExit(f"{experiment} is {state['state']}: {state['error']}")
        # On a busy machine scrapes may time out; the testbed shows a run until the next one starts.
        seen = f"timestamp({SCRAPED} == 1) > {time.time() + 1}"
        until(f"a scrape after the end of {experiment}", READY_WITHIN, lambda: prometheus.now(seen))
        print(f"ran  {experiment}: {state['verdict']['verdict']}")


def through_proxy(stack, binary, folder, testbed):
    """Starts a proxy in front of the testbed. Where its API is, and the testbed through it."""
    listen, port = free_port(), free_port()
    file = folder / "proxies.json"
    proxy = {"name": "testbed", "listen": f"127.0.0.1:{listen}", "upstream": f"127.0.0.1:{testbed}"}
    file.write_text(json.dumps([proxy]))
    command = [binary, "proxy", "--listen", f"127.0.0.1:{port}", "--config", str(file)]
    stack.enter_context(running(command, folder / "proxy.log"))
    return port, f"http://127.0.0.1:{listen}"


def scrapes(prometheus):
    """How many scrapes were answered, for people: with many that timed out the rest means little."""
    span = f"[{round(prometheus.end - prometheus.start)}s]"
    shares = prometheus.now(f"avg_over_time({SCRAPED}{span})")
    slowest = prometheus.now(f'max_over_time(scrape_duration_seconds{{job="windtunnel"}}{span})')
    return f"{100 * shares[0]:.0f} % of scrapes answered, the slowest in {1000 * slowest[0]:.0f} ms"


def main(binary):
    # So that what was started is stopped when this is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        testbed, port, control = free_port(), free_port(), free_port()
        backend = [binary, "backend", "--listen", "127.0.0.1:0", "--control", f"127.0.0.1:{control}", "--ports", "0"]
        stack.enter_context(running(backend, folder / "backend.log"))
        until("the backend is ready", READY_WITHIN, lambda: get(f"http://127.0.0.1:{control}/arms"))
        sink, traces = stack.enter_context(collecting())
        serve = [binary, "serve", "--listen", f"127.0.0.1:{testbed}", "--experiments", "experiments"]
        serve += ["--out", str(folder / "runs"), "--traces", traces, "--backend", f"http://127.0.0.1:{control}"]
        stack.enter_context(running(serve, folder / "serve.log"))
        toxiproxy, api = through_proxy(stack, binary, folder, testbed)
        until("the testbed is ready", READY_WITHIN, lambda: get(f"{api}/readyz"))
        config = configuration(folder, testbed, toxiproxy, port)
        server = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
        # As in docker-compose.yml.
        server += ["--enable-feature=exemplar-storage", "--query.lookback-delta=5s", "--log.level=warn"]
        server += [f"--web.listen-address=127.0.0.1:{port}"]
        stack.enter_context(running(server, folder / "prometheus.log"))
        base = f"http://127.0.0.1:{port}"
        until("Prometheus is ready", READY_WITHIN, lambda: get(f"{base}/-/ready"))
        prometheus = Prometheus(base, time.time())
        run_all(api, prometheus)
        ran = time.monotonic() - began
        prometheus.ends(time.time())
        answered = scrapes(prometheus)
        faults, counts = check_all(prometheus)
        faults += check_exposition(api) + check_rules(prometheus)
        faults += check_traces(prometheus, sink) + notices_mistakes(prometheus)
    took = time.monotonic() - began
    finish("live", faults, f"{counts}; {answered}; runs {ran:.1f} s, all {took:.1f} s")


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))

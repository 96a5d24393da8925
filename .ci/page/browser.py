"""A headless Chromium, driven over its DevTools protocol."""

import base64
import json
import pathlib
import subprocess
import tempfile
import time

from websockets.sync.client import connect

# After this long, in seconds, a browser or a page counts as hung.
HUNG = 30
# Whether a page has its charts.
DRAWN = "document.querySelectorAll('figure:not([hidden]) canvas').length > 0"


class Browser:
    """A Chromium with a profile that goes with it."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        flags = ["--headless=new", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0"]
        flags += ["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--disable-background-networking"]
        command = [program, *flags, f"--user-data-dir={self.profile.name}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port, path = self._address()
        self.socket = connect(f"ws://127.0.0.1:{port}{path}", max_size=None)
        self.last = 0
        self.events = []

    def _address(self):
        """Chromium writes its port and path into its profile."""
        file = pathlib.Path(self.profile.name, "DevToolsActivePort")
        end = time.monotonic() + HUNG
        while time.monotonic() < end:
            lines = file.read_text().splitlines() if file.exists() else []
            if len(lines) == 2:
                return lines
            time.sleep(0.05)
        raise RuntimeError("Chromium did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.process.terminate()
        self.process.wait(HUNG)
        self.profile.cleanup()

    def call(self, method, session=None, **params):
        """Asks for something, and keeps the events that come before the answer."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        self.socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        while True:
            got = json.loads(self.socket.recv(timeout=HUNG))
            if got.get("id") == self.last:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']['message']}")
                return got["result"]
            self.events.append(got)

    def open(self, url, width, height, dark=False, paper=False, empty=False):
        """A new tab. Unless it is to stay empty, it has been drawn when this returns."""
        page = Page(self, url, width, height, dark, paper)
        page.wait("document.readyState === 'complete'" + ("" if empty else f" && {DRAWN}"))
        return page


class Page:
    """A tab of its own."""

    def __init__(self, browser, url, width, height, dark, paper):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Performance"):
            self.call(f"{domain}.enable")
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="print" if paper else "", features=[scheme])
        self.call("Page.navigate", url=url)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def value(self, expression):
        """What an expression of JavaScript gives; a promise is awaited."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(f"{expression}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def wait(self, expression, seconds=HUNG):
        """Until an expression is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.value(f"Boolean({expression})"):
                return
            time.sleep(0.05)
        raise RuntimeError(f"not within {seconds} s: {expression}")

    def cpu_seconds(self):
        """CPU time that the page's own thread has had so far."""
        metrics = self.call("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "ThreadTime")

    def complaints(self):
        """What the console, the log and uncaught exceptions said is wrong, and requests to elsewhere."""
        self.value("1")
        mine = [e for e in self.browser.events if e.get("sessionId") == self.session]
        found = []
        for event in mine:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(str(params["args"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))
        return found

    def requested(self):
        """The addresses of everything that the page asked for."""
        mine = [e for e in self.browser.events if e.get("sessionId") == self.session]
        return [e["params"]["request"]["url"] for e in mine if e["method"] == "Network.requestWillBeSent"]

    def picture(self, path, top=0, height=1900):
        """A PNG of the page, or of a part of it, in pixels from its top."""
        height = min(height, self.value("document.documentElement.scrollHeight") - top)
        clip = {"x": 0, "y": top, "width": self.value("innerWidth"), "height": height, "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

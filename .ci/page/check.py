"""Report and page as a reader's browser shows them: python3 check.py BINARY CHROMIUM"""

import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from browser import HUNG, Browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY, CHROMIUM = sys.argv[1:]
PICTURES = os.environ.get("WINDTUNNEL_PICTURES")
DESK, PHONE = (1200, 900), (390, 844)
STALL, STARVATION = "experiments/stall/overload-recovery.yaml", "experiments/starvation/twenty-downloads.yaml"

# How many pixels of each canvas are of curves and cells: their colours are strong, those of text, lines and bands are not.
COLOURED = """
[...document.querySelectorAll('figure:not([hidden]) canvas')].map((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let coloured = 0;
  for (let at = 0; at < data.length; at += 4) {
    const [low, high] = [Math.min(data[at], data[at + 1], data[at + 2]), Math.max(data[at], data[at + 1], data[at + 2])];
    if (data[at + 3] > 20 && high - low > 110) coloured += 1;
  }
  return coloured;
})
"""
CELLS = "[...document.querySelectorAll('td')].map((cell) => cell.textContent)"
HEADS = "[...document.querySelectorAll('th')].map((cell) => cell.textContent)"
CAPTIONS = "[...document.querySelectorAll('caption')].map((caption) => caption.textContent)"
REGIME = {"stall": "stall", "starvation": "starvation"}
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'> <!-- &amp; {{data}}"


def check(what, holds, detail=""):
    if not holds:
        sys.exit(f"FAILED: {what} {detail}")
    print(f"ok  {what}")


def run(out, *args, codes=(0,)):
    """A run to its end; its directory."""
    before = set(out.iterdir())
    done = subprocess.run([BINARY, "run", *args, "--quiet", "--out", out], cwd=ROOT, capture_output=True, text=True)
    check(f"run {args[0]} ends well", done.returncode in codes, done.stdout + done.stderr)
    return (set(out.iterdir()) - before).pop()


class Served:
    """A program that serves a page, and ends with the block."""

    def __init__(self, *args):
        self.process = subprocess.Popen([BINARY, *args], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        stream = self.process.stdout if args[0] == "serve" else self.process.stderr
        self.addr = re.search(r"http://([^/]+)/", stream.readline())[1]
        self.url = f"http://{self.addr}/"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=HUNG)

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def get(self, path, **headers):
        connection = http.client.HTTPConnection(self.addr, timeout=HUNG)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer, answer.read().decode()


def fits(page, what, canvases=True):
    """Nothing is wrong, nothing is too wide, and every canvas has something in it, if there are any."""
    complaints = page.complaints()
    check(f"{what}: no error in the console", not complaints, complaints)
    wide = page.value("document.documentElement.scrollWidth - innerWidth")
    check(f"{what}: not wider than the screen", wide <= 0, f"by {wide} px")
    if not canvases:
        return
    coloured = page.value(COLOURED)
    check(f"{what}: {len(coloured)} canvases, none blank", coloured and min(coloured) > 20, coloured)


def keep(page, name):
    if PICTURES:
        pathlib.Path(PICTURES).mkdir(parents=True, exist_ok=True)
        page.picture(pathlib.Path(PICTURES, f"{name}.png"))


def reports(browser, out):
    for name, file, charts in [("stall", STALL, 7), ("starvation", STARVATION, 11)]:
        report = run(out, file, "--mode", "virtual") / "report.html"
        for kind, size, more in [("desk", DESK, {}), ("phone", PHONE, {"dark": True}), ("paper", DESK, {"paper": True})]:
            page = browser.open(report.as_uri(), *size, **more)
            fits(page, f"report of {name}, {kind}")
            drawn = page.value("document.querySelectorAll('figure:not([hidden])').length")
            check(f"report of {name}, {kind}: {charts} charts and strips", drawn == charts, drawn)
            check("it asks for nothing else", page.requested() == [report.as_uri()], page.requested())
            shown = page.value(CELLS)
            check("its regimes are there", REGIME[name] in shown and "until" in page.value(HEADS), shown)
            told = page.value("['fail', 'pass'].map((verdict) => observed({ observed: 60.000000001, limit: '== 60', verdict }))")
            check("a value reads otherwise than the limit that it misses", told == ["60.000000001", "60"], told)
            keep(page, f"report-{name}-{kind}")
            page.close()


def sweeps(browser, out):
    """The map of a sweep is drawn, says where prediction and measurement part, and runs nothing that a file says."""
    file = pathlib.Path(out, "swept.yaml")
    text = pathlib.Path(ROOT, "experiments/stall/map.yaml").read_text()
    # A formula that is wrong in one corner.
    when = "sqrt(w) < w * (1 - g) + 1"
    check("the map has its formula", when in text)
    text = re.sub(r"(values: \[)2, 3, 4, [^\]]*", r"\g<1>2, 16", text).replace(when, f"({when}) || (w * g > 15)")
    file.write_text(re.sub(r"^about:(?: [|>]\S*)?(.*\n)(?:  .*\n)*", f"about: {json.dumps(HOSTILE)}\n", text, flags=re.M))
    done = subprocess.run([BINARY, "sweep", file, "--quiet", "--out", out / "sweeps"], cwd=ROOT, capture_output=True, text=True)
    check("a prediction that is wrong fails the sweep", done.returncode == 99, done.stdout + done.stderr)
    report = next((out / "sweeps").glob("*-sweep-*/report.html"))
    for kind, size, more in [("desk", DESK, {}), ("phone", PHONE, {"dark": True}), ("paper", DESK, {"paper": True})]:
        page = browser.open(report.as_uri(), *size, **more, empty=True)
        fits(page, f"report of a sweep, {kind}", canvases=False)
        cells = page.value("[...document.querySelectorAll('.map td')].map(({ textContent }) => textContent)")
        check(f"report of a sweep, {kind}: 20 points on the map", len(cells) == 20 and set(cells) == {"\u25cf", "\u25cb", "\u25cb!"}, cells)
        said = page.value("[...document.querySelectorAll('.map td.disagrees')].map(({ title }) => title)")
        check("what is not as predicted says so in words", said == ["w 16, g 0.95: predicted to hold, held 0 of 1, not as predicted"], said)
        check("it asks for nothing else", page.requested() == [report.as_uri()], page.requested())
        check("and runs nothing", page.value("typeof window.hacked") == "undefined")
        keep(page, f"report-sweep-{kind}")
        page.close()


def scorecards(browser, out):
    """The scorecard of a few laws is drawn, and another shape and measure on demand."""
    settings = ["--set", "sweep.seeds=4", "--set", "sweep.axes.law.named={right: {fixed: {limit: 20}}, none: {unlimited: {}}}"]
    command = [BINARY, "sweep", "experiments/scorecard.yaml", *settings, "--quiet", "--out", out / "scorecards"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    check("a small scorecard ends well", done.returncode == 0, done.stdout + done.stderr)
    report = next((out / "scorecards").glob("*-sweep-*/report.html"))
    for kind, size, more in [("desk", DESK, {}), ("phone", PHONE, {"dark": True}), ("paper", DESK, {"paper": True})]:
        page = browser.open(report.as_uri(), *size, **more, empty=True)
        fits(page, f"report of a scorecard, {kind}", canvases=False)
        cells = page.value("document.querySelectorAll('.map td').length")
        check(f"report of a scorecard, {kind}: two laws in 13 shapes, and in all", cells == 2 * 14, cells)
        picture = "(() => { const { width, height } = document.querySelector('.dots').getBoundingClientRect(); return [width, height]; })()"
        check("its points are drawn", min(page.value(picture)) > 50 and page.value("document.querySelectorAll('.dots circle').length") == 2)
        choose = "(() => { const all = document.querySelectorAll('.choices select'); all[%d].value = '%d'; all[%d].onchange(); })()"
        page.value(choose % (0, 1, 0))
        page.value(choose % (1, 3, 1))
        said = page.value("document.querySelector('.dots').getAttribute('aria-label')")
        check("another shape and measure are drawn", said == "limit_error in step-1.4x: mean over seeds and its 95 % interval", said)
        check("who has no window has no point", page.value("document.querySelectorAll('.dots circle').length") == 1)
        check("it asks for nothing else", page.requested() == [report.as_uri()], page.requested())
        keep(page, f"report-scorecard-{kind}")
        page.close()


def keyboard(browser, out):
    """An arm is hidden by keys alone, and the button says so."""
    page = browser.open((next(out.glob("*overload*")) / "report.html").as_uri(), *DESK)
    before = sum(page.value(COLOURED))
    page.value("document.querySelector('.arms button').focus()")
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=" ", code="Space", windowsVirtualKeyCode=32, text=" ")
    pressed = page.value("document.querySelector('.arms button').getAttribute('aria-pressed')")
    check("a key hides an arm", pressed == "false" and sum(page.value(COLOURED)) < before, pressed)
    unnamed = page.value("[...document.querySelectorAll('[role=img]')].filter((e) => !e.ariaLabel && !e.closest('[hidden]')).length")
    check("every picture has a name", unnamed == 0, unnamed)
    page.close()


def hostile(browser, out):
    report = run(out, STALL, "--mode", "virtual", "--set", f"about={json.dumps(HOSTILE)}") / "report.html"
    page = browser.open(report.as_uri(), *DESK)
    shown = page.value("document.getElementById('about').textContent.trim()")
    check("what an experiment says is shown as text", shown == HOSTILE, shown)
    check("and runs nothing", page.value("typeof window.hacked") == "undefined")
    fits(page, "hostile report")
    page.close()


def history(browser, out):
    """The page of ten minutes, loaded, against one of a few seconds."""
    # What is expected of 30 s need not come true in 600.
    options = ["--mode", "virtual", "--no-report"]
    long = run(out, STALL, *options, "--set", "phases[2].for=596s", codes=(0, 4, 99))
    short = run(out, STALL, *options)
    for name, run_dir in [("30 s", short), ("10 minutes", long)]:
        with Served("report", str(run_dir), "--serve", "--listen", "127.0.0.1:0") as served:
            wall, cpu = zip(*[load(browser, served) for _ in range(5)])
        print(f"    {name}: {min(wall):.2f} s, of CPU {min(cpu):.2f} s")
    check("ten minutes are shown within a second of CPU", min(cpu) < 1)


def load(browser, served):
    """How long a page takes until it is drawn, in seconds, and how much of CPU, which other programs' work does not add to."""
    before = served.cpu_seconds()
    page = browser.open(served.url, *DESK)
    wall, cpu = page.value("performance.now()") / 1e3, page.cpu_seconds() + served.cpu_seconds() - before
    page.close()
    return wall, cpu


def live(browser, out):
    settings = ["--set", "phases[0].for=2s", "--set", "phases[2].for=15s"]
    args = ["run", STALL, "--mode", "live", *settings, "--listen", "127.0.0.1:0", "--out", str(out)]
    with Served(*args) as served:
        answer, _ = served.get("/", Accept="text/html")
        check("the page has a policy", "default-src 'none'" in answer.headers["content-security-policy"])
        refused, _ = served.get("/page.json", Host="evil.example")
        check("another host's name is refused", refused.status == 403, refused.status)
        page = browser.open(served.url, *PHONE)
        page.wait("document.getElementById('progress').textContent.startsWith('running')")
        page.wait(f"{CELLS}.includes('held-at-70-percent')")
        page.wait(f"{CAPTIONS}.includes('Expectations as they stand')")
        standing(page)
        page.wait(f"{CELLS}.includes('collapse') && document.querySelectorAll('.lane .regime').length > 0")
        page.wait("[...document.querySelectorAll('figure:not([hidden]) b')].some(({ textContent }) => textContent.includes('admission'))")
        fits(page, "live page")
        keep(page, "live-phone")
        late = browser.open(served.url, *DESK)
        late.wait("document.getElementById('progress').textContent.startsWith('running')")
        phases = late.value(f"{CELLS}.includes('healthy')")
        check("who comes late sees the whole past", phases)
        fits(late, "live page, late")
        keep(late, "live-desk")
        late.value("(async () => { const live = new Live(document.getElementById('main')); await live.begin(); live.dropped(); })()")
        late.wait("document.getElementById('progress').textContent.includes('drops: 1')")
        fits(late, "the page that was too slow and began anew")
        _, text = served.get("/page/events")
        ended = time.monotonic()
        check("events end with the run", re.findall(r"^event: (\w+)$", text, re.M)[-1] == "end")
        served.process.wait(HUNG)
        print(f"    the process ended {time.monotonic() - ended:.2f} s after its last event")
        for shown in (page, late):
            shown.wait("document.getElementById('progress').textContent.startsWith('over')")
            fits(shown, "the page after the end")
        state = late.value("document.getElementById('state').textContent")
        # A machine with too much to do makes the verdict inconclusive, and that is one too.
        check("the verdict is shown", re.search("pass|fail|inconclusive", state), state)


def standing(page):
    """What is open says so, and what a value has decided is said before the end."""
    page.wait(f"{CELLS}.some((cell) => cell.includes('open, '))")
    page.wait(f"{CELLS}.some((cell) => cell.includes('\\u2713 pass') || cell.includes('\\u2717 fail'))")
    going = page.value("document.getElementById('progress').textContent")
    check("an expectation is decided while the run goes", going.startswith("running"), going)


def waiters(browser, out):
    # Enough to download that somebody waits until the run ends.
    settings = ["--set", "download.tasks=100", "--set", "phases[0].for=10s"]
    args = ["run", STARVATION, "--mode", "live", *settings, "--listen", "127.0.0.1:0", "--out", str(out)]
    with Served(*args) as served:
        page = browser.open(served.url, *PHONE, dark=True)
        page.wait("[...document.querySelectorAll('caption')].some(({ textContent }) => textContent === 'by-id: the oldest waits')")
        granted = "[...document.querySelectorAll('figure:not([hidden]) b')].some(({ textContent }) => textContent === 'Granted')"
        check("what was granted is a chart of the live page", page.value(granted))
        fits(page, "live page of limiters")
        keep(page, "live-waiters")


def served_runs(browser, out):
    with Served("serve", "--listen", "127.0.0.1:0", "--out", str(out)) as served:
        page = browser.open(served.url, *DESK, empty=True)
        page.wait("document.getElementById('progress').textContent.startsWith('no run')")
        order = ["run", "--server", served.url.rstrip("/"), "starvation/twenty-downloads", "--mode", "virtual", "--quiet"]
        done = subprocess.run([BINARY, *order], cwd=ROOT, capture_output=True, text=True)
        check("a run on the server ends well", done.returncode == 0, done.stderr)
        page.wait("document.querySelectorAll('.strip').length === 6")
        fits(page, "page of a server")


def main():
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Browser(CHROMIUM) as browser:
        out = pathlib.Path(folder)
        for part in (reports, sweeps, scorecards, keyboard, hostile, history, live, waiters, served_runs):
            part(browser, out)
    print(f"all in {time.monotonic() - begin:.0f} s")


main()

"""What an editor says of experiments: python3 .ci/schema/lsp.py yaml-language-server

Opens every shipped experiment, and every bad file, over the Language Server Protocol, with the committed schema. Of the
first no diagnostic is allowed, of the second one is required, but where only the meaning is wrong (`validate.MEANING`).
"""

import itertools
import json
import subprocess
import sys
import threading

from validate import BAD, GOOD, MEANING, ROOT, SCHEMA, tracked

# Seconds until a server that says nothing of a file is given up.
HUNG = 30


class Editor:
    """A client of a language server: opens files and waits for what is said of them."""

    def __init__(self, server):
        self.process = subprocess.Popen([server, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ids = itertools.count(1)
        self.diagnostics = {}
        self.answers = {}
        self.heard = threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()
        self.request("initialize", {"processId": None, "rootUri": ROOT.as_uri(), "capabilities": {}})
        self.send({"method": "initialized", "params": {}})
        # The first lines of the files name the schema as well; by these settings it holds for those that do not.
        self.settings = {"yaml": {"schemas": {SCHEMA.as_uri(): "*.yaml"}, "schemaStore": {"enable": False}, "validate": True}}
        self.send({"method": "workspace/didChangeConfiguration", "params": {"settings": self.settings}})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def request(self, method, params):
        number = next(self.ids)
        self.send({"id": number, "method": method, "params": params})
        return self.wait(self.answers, number)

    def listen(self):
        while header := self.process.stdout.readline():
            if not header.lower().startswith(b"content-length:"):
                continue
            length = int(header.split(b":")[1])
            while self.process.stdout.readline().strip():
                pass
            self.take(json.loads(self.process.stdout.read(length)))

    def take(self, message):
        if message.get("method") == "textDocument/publishDiagnostics":
            with self.heard:
                self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
                self.heard.notify_all()
        elif "method" in message and "id" in message:
            # It asks for its settings; the rest it does not need.
            items = message.get("params", {}).get("items", []) if message["method"] == "workspace/configuration" else None
            result = None if items is None else [self.settings.get(item.get("section", "")) for item in items]
            self.send({"id": message["id"], "result": result})
        elif "id" in message:
            with self.heard:
                self.answers[message["id"]] = message.get("result")
                self.heard.notify_all()

    def wait(self, where, key):
        with self.heard:
            if not self.heard.wait_for(lambda: key in where, HUNG):
                sys.exit(f"the language server said nothing of {key} within {HUNG} s")
            return where.pop(key)

    def open(self, path):
        """What is said of a file, one line each."""
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": path.read_text()}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        said = self.wait(self.diagnostics, path.as_uri())
        self.send({"method": "textDocument/didClose", "params": {"textDocument": {"uri": path.as_uri()}}})
        self.wait(self.diagnostics, path.as_uri())
        return [f"{path.relative_to(ROOT)}:{one['range']['start']['line'] + 1}: {one['message'][:120]}" for one in said]

    def close(self):
        self.request("shutdown", None)
        self.send({"method": "exit"})
        self.process.wait(HUNG)


def main(server):
    editor = Editor(server)
    good, bad = tracked(*GOOD), tracked(BAD)
    wrong = [said for path in good for said in editor.open(path)]
    for path in bad:
        seen = bool(editor.open(path))
        if seen == (path.stem in MEANING):
            wrong.append(f"{path.relative_to(ROOT)}: {'marked, though only its meaning is wrong' if seen else 'not marked'}")
    editor.close()
    print("\n".join(wrong) or f"an editor marks none of {len(good)} experiments, and {len(bad)} bad files as expected")
    if wrong or not good or not bad:
        sys.exit(1)


main(*sys.argv[1:])

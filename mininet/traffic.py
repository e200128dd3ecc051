"""A web server that names itself, and clients that tell who answered.

    traffic.py serve NAME PORT
    traffic.py fetch URL COUNT [PORT]
    traffic.py hold URL COUNT [PORT]

Each request of fetch is a new TCP connection; with COUNT 0 it goes on until
SIGTERM, at most 100 times a second. At the end it prints one JSON object: {"answers": {NAME: N},
"failed": {NAME or "": N}, "errors": [TEXT]}; a failure is put to a name when
a server had begun to answer.

The connections come from PORT and the COUNT - 1 ports above it; without PORT,
or with 0, from those that the kernel gives.

hold keeps COUNT connections open and asks on each of them, round after round,
until it is ended. A connection is broken that fails, or on which another
server answers than at first; it is not made anew. Each round prints one line:
{"alive": {NAME: N}, "broken": {NAME: {KIND: N}}, "errors": [TEXT]}, with the
name of the server at first and as kind "moved" or that of the exception.
"""
import collections
import http.client
import http.server
import json
import signal
import sys
import time
import urllib.parse

BODY = b"evenflow " * 500  # several segments
PATIENCE = 15  # seconds for an answer on a connection that is held: it may be sent again several times
PAUSE = 0.05, 1  # seconds between rounds, at least and at most: as long as two rounds, or the requests would take all of a small machine


class Page(http.server.BaseHTTPRequestHandler):
    """Answers every GET with the same body; the header Server-Name tells who."""

    protocol_version = "HTTP/1.1"  # connections stay open
    disable_nagle_algorithm = True
    name = ""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Server-Name", self.name)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        """Requests are counted by the client."""


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """Nothing to tell: the client counts what fails."""


def serve(name, port):
    Page.name = name
    Server(("", port), Page).serve_forever()


def connect(url, patience, port):
    """A connection to a web server, from this port unless it is 0. It is not opened again by itself."""
    where = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname, where.port or 80, timeout=patience, source_address=("", port) if port else None)
    connection.auto_open = False
    connection.connect()
    return connection


def ask(connection, **headers):
    """One request: yields the name of the server that begins to answer, then checks the page."""
    connection.request("GET", "/", headers=headers)
    answer = connection.getresponse()
    yield answer.getheader("Server-Name", "")
    if answer.status != 200 or answer.read() != BODY:
        raise http.client.HTTPException("wrong answer, status %d" % answer.status)


def fetch(url, count, port=0):
    answers, failed, errors, ended = collections.Counter(), collections.Counter(), [], []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    done = 0
    while not ended and (done < count or not count):
        name, connection = "", None
        try:
            connection = connect(url, 5, port and port + done)
            for name in ask(connection, Connection="close"):
                pass
            answers[name] += 1
        except (OSError, http.client.HTTPException) as problem:
            failed[name] += 1
            errors.append("%s: %s: %s" % (name or "no answer", type(problem).__name__, problem))
        finally:
            done += 1
            if connection:
                connection.close()
        if not count:
            time.sleep(0.01)
    return {"answers": answers, "failed": failed, "errors": errors}


class Held:
    """A connection that stays open, its server, and why it is broken if it is."""

    def __init__(self, url, port):
        self.connection, self.server, self.kind, self.error = None, "", "", ""
        try:
            self.connection = connect(url, PATIENCE, port)
        except OSError as problem:
            self.kind, self.error = type(problem).__name__, "connect: %s" % problem
        self.ask()

    def ask(self):
        if self.kind:
            return
        try:
            for name in ask(self.connection):
                self.server = self.server or name
                if name != self.server:
                    self.kind, self.error = "moved", "%s answers for %s" % (name, self.server)
        except (OSError, http.client.HTTPException) as problem:
            self.kind, self.error = type(problem).__name__, "%s: %s: %s" % (self.server or "no answer", type(problem).__name__, problem)


def hold(url, count, port=0):
    all_held = [Held(url, port and port + i) for i in range(count)]
    while True:
        begin, alive, broken = time.monotonic(), collections.Counter(), collections.defaultdict(collections.Counter)
        for held in all_held:
            held.ask()
            if held.kind:
                broken[held.server][held.kind] += 1
            else:
                alive[held.server] += 1
        errors = [held.error for held in all_held if held.kind]
        print(json.dumps({"alive": alive, "broken": broken, "errors": errors[:10]}), flush=True)
        time.sleep(min(max(PAUSE[0], 2 * (time.monotonic() - begin)), PAUSE[1]))


def main(args):
    commands = {"serve": serve, "fetch": lambda *args: json.dump(fetch(*args), sys.stdout), "hold": hold}
    most = 3 if args[:1] == ["serve"] else 4
    if not 3 <= len(args) <= most or args[0] not in commands or not all(number.isdigit() for number in args[2:]):
        sys.exit(__doc__)
    commands[args[0]](args[1], *map(int, args[2:]))


if __name__ == "__main__":
    main(sys.argv[1:])

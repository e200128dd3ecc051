"""A web server that names itself, and a client that counts who answered.

    traffic.py serve NAME PORT
    traffic.py fetch URL COUNT

Each request of fetch is a new TCP connection. It prints one JSON object:
{"answers": {NAME: N}, "failed": {NAME or "": N}, "errors": [TEXT]}; a failure
is put to a name when a server had begun to answer.
"""
import http.client
import http.server
import json
import sys
import urllib.parse

BODY = b"evenflow " * 500  # several segments


class Page(http.server.BaseHTTPRequestHandler):
    """Answers every GET with the same body; the header Server-Name tells who."""

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


def serve(name, port):
    Page.name = name
    Server(("", port), Page).serve_forever()


def fetch(url, count):
    where = urllib.parse.urlsplit(url)
    answers, failed, errors = {}, {}, []
    for _ in range(count):
        name, connection = "", http.client.HTTPConnection(where.hostname, where.port or 80, timeout=5)
        try:
            connection.request("GET", where.path or "/", headers={"Connection": "close"})
            answer = connection.getresponse()
            name = answer.getheader("Server-Name", "")
            if answer.status != 200 or answer.read() != BODY:
                raise http.client.HTTPException("wrong answer, status %d" % answer.status)
            answers[name] = answers.get(name, 0) + 1
        except (OSError, http.client.HTTPException) as problem:
            failed[name] = failed.get(name, 0) + 1
            errors.append("%s: %s: %s" % (name or "no answer", type(problem).__name__, problem))
        finally:
            connection.close()
    return {"answers": answers, "failed": failed, "errors": errors}


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]))
    elif len(sys.argv) == 4 and sys.argv[1] == "fetch":
        json.dump(fetch(sys.argv[2], int(sys.argv[3])), sys.stdout)
    else:
        sys.exit(__doc__)

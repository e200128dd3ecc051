"""Flows of datagrams to a server that names itself, and what has become of them.

    datagrams.py serve NAME PORT
    datagrams.py hold ADDRESS PORT ANSWERED SILENT

serve answers each datagram that begins with `?` with NAME. It prints, whenever
it gets SIGUSR1, one line with the clients' ports that have sent it others: [PORT, ...].

hold sends on ANSWERED flows with questions and on SILENT flows without, ten times
a second on each, until it is ended. Once a flow that is answered has no answer to
five questions in a row, or one of another server than at first, it is broken. Each
time that all flows have been asked anew it prints one line as `traffic.py hold` does,
which connections.Held reads, and in it "silent": the ports of the flows without answers.
"""
import collections
import json
import select
import signal
import socket
import sys
import time

PAUSE = 0.1  # seconds between two datagrams of a flow
TRIES = 5, 15  # questions without an answer, and seconds for them, until a flow is broken: a busy machine loses datagrams


def serve(name, port):
    """Answer and note until the process is ended."""
    seen = set()
    signal.signal(signal.SIGUSR1, lambda *_: print(json.dumps(sorted(seen)), flush=True))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("", port))
        print(json.dumps([]), flush=True)
        while True:
            text, client = own.recvfrom(64)
            if text.startswith(b"?"):
                own.sendto(name.encode(), client)
            else:
                seen.add(client[1])


def opened(address, port):
    flow = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    flow.connect((address, port))
    flow.setblocking(False)
    return flow


def send(flow, text):
    try:
        flow.send(text)
    except OSError:
        pass  # what an ICMP error has said of an earlier one; nobody answers then


class Flow:
    """A flow that is answered, its server, and why it is broken if it is."""

    def __init__(self, address, port):
        self.socket, self.server, self.kind, self.error = opened(address, port), "", "", ""
        self.asked, self.since, self.answers = 0, time.monotonic(), 0

    def fileno(self):
        return self.socket.fileno()

    def ask(self):
        if self.asked >= TRIES[0] and time.monotonic() - self.since > TRIES[1] and not self.kind:
            self.kind, self.error = "TimeoutError", "%s: no answer to %d datagrams" % (self.server or "nobody", self.asked)
        if not self.kind:
            self.asked += 1
            send(self.socket, b"?")

    def hear(self):
        try:
            name = self.socket.recv(64).decode()
        except OSError:
            return
        self.server = self.server or name
        self.asked, self.since = 0, time.monotonic()
        self.answers += 1
        if name != self.server:
            self.kind, self.error = "moved", "%s answers for %s" % (name, self.server)


def report(flows, ports):
    """What a line says."""
    alive, broken = collections.Counter(), collections.defaultdict(collections.Counter)
    for flow in flows:
        if flow.kind:
            broken[flow.server][flow.kind] += 1
        else:
            alive[flow.server] += 1
    return {"alive": alive, "broken": broken, "errors": [f.error for f in flows if f.kind][:10], "silent": ports}


def hold(address, port, answered, silent):
    flows, unheard = [Flow(address, port) for _ in range(answered)], [opened(address, port) for _ in range(silent)]
    ports = [flow.getsockname()[1] for flow in unheard]
    while True:
        before, rounds = {flow: flow.answers for flow in flows}, 0
        while not rounds or any(flow.answers == before[flow] and not flow.kind for flow in flows):
            rounds += 1
            begin = time.monotonic()
            for flow in flows:
                flow.ask()
            for flow in unheard:
                send(flow, b".")
            while (left := begin + PAUSE - time.monotonic()) > 0:
                for flow in select.select(flows, [], [], left)[0]:
                    flow.hear()
        print(json.dumps(report(flows, ports)), flush=True)


def main(args):
    if len(args) == 3 and args[0] == "serve":
        serve(args[1], int(args[2]))
    elif len(args) == 5 and args[0] == "hold":
        hold(args[1], *(int(a) for a in args[2:]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])

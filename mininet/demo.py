#!/usr/bin/python3
"""The demo: a VIP balanced over four servers by Evenflow, in Mininet.

Two clients fetch pages through the VIP, each page over a new connection. After
a batch one backend's cable is pulled; when the status shows it down the next
batch runs; the cable is put back, and when the status shows the backend up
again a last batch follows. No request may fail, and the backend that was away
must have served before and after but not meanwhile.

On a terminal the network stays up at the end until Enter or Ctrl-C. The last
line is `demo: ok requests=N failed=0`, with exit code 0, or `demo: FAILED ...`
with 1. Run it by `make demo`.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import evenflow
from mininet.log import setLogLevel

VIP, VIP_PORT, BACKEND_PORT = "10.0.0.100", 80, 8080
BACKENDS = ["b1", "b2", "b3", "b4"]
AWAY = "b2"
TRAFFIC = os.path.join(evenflow.HERE, "traffic.py")


class Failure(Exception):
    """What the demo shows did not come true."""


def say(text):
    print(text, flush=True)


def start_servers(net):
    servers = []
    for name in BACKENDS:
        log = os.path.join(evenflow.run_dir(), name + ".log")
        servers.append(evenflow.start_in(net[name], ["/usr/bin/python3", TRAFFIC, "serve", name, str(BACKEND_PORT)], log))
    for name in BACKENDS:
        ready = "for i in $(seq 300); do ss -Hltn sport = :%d | grep -q . && echo up && break; sleep 0.1; done" % BACKEND_PORT
        if "up" not in net[name].cmd(ready):
            raise Failure("the web server on %s does not listen" % name)
    return servers


def declare_vip(controller):
    vip = {"name": "web", "address": VIP, "protocol": "tcp", "port": VIP_PORT, "mode": "nat",
           "backends": [{"name": n, "address": "10.0.0.%d" % i, "port": BACKEND_PORT} for i, n in enumerate(BACKENDS, start=1)]}
    controller.call("POST", "/api/v1/vips?wait=30s", vip)


def await_backends(controller, wanted):
    """Wait until the backends' states are as wanted ({name: state}); return the seconds it took."""
    begin, seen = time.monotonic(), {}

    def check():
        seen.clear()
        seen.update((b["name"], b["state"]) for b in controller.call("GET", "/api/v1/vips/web")["status"]["backends"])
        return seen == wanted

    try:
        controller.await_("the backends to be %s" % wanted, check)
    except RuntimeError as problem:
        raise Failure("%s; they are %s" % (problem, seen)) from problem
    return time.monotonic() - begin


def batch(net, each):
    """`each` requests from either client at once; {name: (connections, failures)}, "" for no answer at all."""
    clients = []
    for name in ("c1", "c2"):
        url = "http://%s:%d/" % (VIP, VIP_PORT)
        clients.append(evenflow.popen_in(net[name], ["/usr/bin/python3", TRAFFIC, "fetch", url, str(each)]))
    result = {name: [0, 0] for name in BACKENDS + [""]}
    for client in clients:
        out, err = client.communicate(timeout=evenflow.LIMIT + 6 * each)
        if client.returncode:
            raise Failure("a client ended with code %d: %s" % (client.returncode, err.decode(errors="replace")))
        told = json.loads(out)
        for column, key in enumerate(("answers", "failed")):
            for name, count in told[key].items():
                result.setdefault(name, [0, 0])[column] += count
        for error in told["errors"][:3]:
            say("  failed: " + error)
    return result


def table(batches):
    """The text of the result: per backend the connections of each batch, their sum, share and failures."""
    names = list(BACKENDS) + sorted({n for b in batches for n in b} - set(BACKENDS))
    total = sum(b[n][0] for b in batches for n in b)
    rows = [["backend"] + ["batch %d" % i for i in range(1, len(batches) + 1)] + ["connections", "share", "failures"]]
    for name in names:
        done = [b.get(name, (0, 0))[0] for b in batches]
        lost = sum(b.get(name, (0, 0))[1] for b in batches)
        if name or lost:
            rows.append([name or "(none)"] + [str(d) for d in done] +
                        [str(sum(done)), "%.1f%%" % (100.0 * sum(done) / max(1, total)), str(lost)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join([row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]) for row in rows)


def judge(batches):
    """Raise Failure unless what was shown is what was promised."""
    before, meanwhile, after = batches
    for name in BACKENDS:
        if not before[name][0]:
            raise Failure("%s served nothing in the first batch" % name)
    if meanwhile[AWAY][0]:
        raise Failure("%s served %d connections while its cable was away" % (AWAY, meanwhile[AWAY][0]))
    if not after[AWAY][0]:
        raise Failure("%s served nothing after it had come back" % AWAY)
    lost = sum(b[n][1] for b in batches for n in b)
    if lost:
        raise Failure("requests=%d failed=%d" % (sum(sum(c) for b in batches for c in b.values()), lost))


def show(net, each):
    """Run the demo on a started network; return the number of requests."""
    controller = net.controllers[0]
    controller.await_network(net)
    say("network up: clients c1, c2 - s1 - s2 (b1, b2), s3 (b3, b4); controller at http://%s" % controller.http)
    declare_vip(controller)
    up = dict.fromkeys(BACKENDS, "up")
    await_backends(controller, up)
    say("VIP web: %s:%d, backends' port %d" % (VIP, VIP_PORT, BACKEND_PORT))

    batches = [batch(net, each)]
    say("batch 1: four backends")
    net[AWAY].cmd("ip link set %s-eth0 down" % AWAY)
    say("%s: cable pulled, shown down after %.1f s" % (AWAY, await_backends(controller, dict(up, **{AWAY: "down"}))))
    batches.append(batch(net, each))
    say("batch 2: three backends")
    net[AWAY].cmd("ip link set %s-eth0 up" % AWAY)
    say("%s: cable back, shown up after %.1f s" % (AWAY, await_backends(controller, up)))
    batches.append(batch(net, each))
    say("batch 3: four backends\n\n%s\n" % table(batches))
    judge(batches)
    return sum(sum(c) for b in batches for c in b.values())


def linger(controller):
    say("The network stays up: http://%s/api/v1/vips/web and the rest of the interface. Enter ends it." % controller.http)
    try:
        sys.stdin.readline()
    except KeyboardInterrupt:
        pass


def run(program, each, stay):
    """Bring the network up, show the demo, take everything down; return the number of requests."""
    net, servers = evenflow.network(evenflow.PaperTopo(), program=program), []
    try:
        net.start()
        servers = start_servers(net)
        requests = show(net, each)
        if stay:
            linger(net.controllers[0])
        return requests
    except Exception:
        say("--- the end of evenflow's log\n%s---" % net.controllers[0].tail())
        raise
    finally:
        with evenflow.undisturbed():
            for server in servers:
                evenflow.end(server)
            net.stop()


def main():
    args = argparse.ArgumentParser(description="A VIP balanced over four servers by Evenflow, in Mininet.")
    args.add_argument("--requests", type=int, default=100, help="requests of either client in each of three batches")
    args.add_argument("--evenflow", default=evenflow.PROGRAM, help="the program")
    args.add_argument("--stay", action=argparse.BooleanOptionalAction, default=sys.stdin.isatty() and sys.stdout.isatty(),
                      help="keep the network up at the end (default: on a terminal)")
    args = args.parse_args()
    setLogLevel("error")
    try:
        evenflow.signals_interrupt()
        if os.geteuid() != 0:
            raise Failure("it needs root")
        say("demo: ok requests=%d failed=0" % run(args.evenflow, args.requests, args.stay))
        return 0
    except KeyboardInterrupt as signalled:
        say("demo: FAILED interrupted by %s" % signalled)
    except (Failure, RuntimeError, OSError, subprocess.SubprocessError, KeyError, ValueError) as problem:
        say("demo: FAILED %s" % problem)
    return 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Connections live on while everything around them changes: mode `group` in Mininet, on three switches.

300 TCP connections are held through a VIP, with requests on them all the time.
Backends are added, drained and weighed anew, another VIP changes, the
controller is killed; without one, new connections are made and ARP is answered.
Then come 100 changes a second for ten seconds, while new connections are made
as fast as they can. None may fail, and none of those held may break or move.
At last a backend is removed that was not drained: its connections end with a
reset, the others live on.

The last line is `churn: ok held=N requests=N changes=N rate=N/s failed=0 broken=0`,
with exit code 0, or `churn: FAILED ...` with 1.
"""
import argparse
import http.client
import json
import sys
import threading
import time

import connections
import evenflow
import trial
from service import Failure, Service, say

BACKEND_PORT = 8080
HELD = 300  # connections
RATE = 100  # changes a second
MORE = 56  # further addresses of the servers, which come and go as backends
YOUNG, OLD = 8, 40  # cycles of changes until a backend that has come is drained, and removed


def more_address(number):
    """The address of a backend that comes and goes."""
    return "10.0.0.%d" % (150 + number % MORE)


class Churn:
    def __init__(self, net):
        self.net, self.controller = net, net.controllers[0]
        self.clients = [net["c1"], net["c2"]]
        hosts = [net["b%d" % i] for i in (1, 2, 3, 4)]
        self.vip = Service(self.controller, "web", "10.0.0.100", 80, BACKEND_PORT, hosts)
        self.other = Service(self.controller, "other", "10.0.0.101", 80, BACKEND_PORT, hosts)
        self.held = []

    def hold(self):
        for client in self.clients:
            self.held.append(connections.Held(client, self.vip.url, HELD // len(self.clients)))
        return self.check("opened")

    def check(self, what, gone=""):
        """Raise Failure unless the connections held are alive, but for those of a backend that is gone; the latter were reset."""
        begin = time.monotonic()
        alive, broken, errors = connections.reports(self.held)
        ended = broken.pop(gone, {})
        say("%-32s %d of %d connections alive (%s)%s, in %.1f s" % (
            what + ":", alive.total(), HELD, ", ".join("%s %d" % a for a in sorted(alive.items())),
            ", %d reset" % ended["ConnectionResetError"] if gone else "", time.monotonic() - begin))
        if broken or alive.total() + sum(ended.values()) != HELD or set(ended) - {"ConnectionResetError"}:
            raise Failure("%s: broken %s, ended %s: %s" % (what, {n: dict(k) for n, k in broken.items()}, dict(ended), "; ".join(errors)))
        return alive

    def headless(self):
        """New connections, and ARP, without a controller."""
        self.controller.kill()
        for client in self.clients:
            client.cmd("ip neigh flush all")
            if "1 received" not in client.cmd("ping -c1 -W10 " + self.net["b1"].IP()):
                raise Failure("without a controller %s does not reach b1" % client.name)
        requests = self.judge("without a controller", *connections.Fetching(self.clients, self.vip.url, 100).finish())
        self.check("without a controller")
        self.controller.start()
        self.controller.await_network(self.net)
        self.check("with the next one")
        return requests

    @staticmethod
    def judge(what, result, errors):
        """Raise Failure if a request has failed; return their number."""
        if errors:
            raise Failure("%s: failed=%d: %s" % (what, sum(c[1] for c in result.values()), "; ".join(errors[:5])))
        return sum(c[0] for c in result.values())

    def change_much(self, seconds):
        """Change the VIP 100 times a second under load; return the numbers of changes, of requests, and the rate."""
        load = connections.Fetching(self.clients, self.vip.url)
        many, worked = Many(self.controller, self.vip, seconds), self.controller.cpu()
        took = many.run(self.counted())
        worked = self.controller.cpu() - worked
        self.vip.set("b1", weight=9)  # every switch has confirmed it, and so the others
        requests = self.judge("under many changes", *load.finish())
        done, slowest = sum(many.done), max(many.slowest)
        say("%d changes in %.1f s, each %.1f ms of the controller's CPU, the slowest answered after %.0f ms; "
            "%d new connections meanwhile, none failed" % (done, took, 1000 * worked / done, 1000 * slowest, requests))
        return done, requests, done / took

    def counted(self):
        """A check, to be called again and again, that the new connections that the VIP's backends have had are never fewer than before."""
        most = {}

        def check():
            for b in self.vip.read()["status"]["backends"]:
                if b["new_connections"] < most.get(b["name"], 0):
                    raise Failure("%s had %d new connections, now %d" % (b["name"], most[b["name"]], b["new_connections"]))
                most[b["name"]] = b["new_connections"]
        return check

    def stop(self):
        for held in self.held:
            held.stop()


class Many:
    """Many changes of a VIP, by four clients of the controller: adds, drains, other weights, removals of what is drained."""

    def __init__(self, controller, service, seconds):
        self.address, self.path, self.port = controller.http, "/api/v1/vips/%s/backends" % service.name, service.backend_port
        self.cycles = int(seconds * RATE / 4)
        self.done, self.slowest, self.ended, self.problem = [0] * 4, [0.0] * 4, 0.0, None
        self.progress = threading.Condition()

    def run(self, check):
        """Make all changes, and call check meanwhile; return the seconds that it took."""
        begin = time.monotonic()
        clients = [threading.Thread(target=self.client, args=(kind, begin)) for kind in range(4)]
        for client in clients:
            client.start()
        try:
            while any(client.is_alive() for client in clients):
                check()
                time.sleep(0.3)
        except (Failure, RuntimeError) as problem:
            self.fail(problem)
        for client in clients:
            client.join()
        if self.problem:
            raise self.problem
        return self.ended - begin

    def fail(self, problem):
        with self.progress:
            self.problem = problem
            self.progress.notify_all()

    def client(self, kind, begin):
        """Every fourth change, in time, or as soon as what it builds on has been done."""
        connection = http.client.HTTPConnection(self.address, timeout=evenflow.LIMIT)
        try:
            for cycle in range(self.cycles):
                with self.progress:
                    before = (0, cycle - YOUNG + 1, cycle - OLD + YOUNG + 1, 0)[kind]  # adds before drains before removals
                    self.progress.wait_for(lambda: self.problem or self.done[max(0, kind - 1)] >= before)
                time.sleep(max(0, begin + (4 * cycle + kind) / RATE - time.monotonic()))
                if self.problem:
                    return
                self.request(connection, kind, *self.change(kind, cycle))
        except (Failure, OSError, http.client.HTTPException) as problem:
            self.fail(problem)
        finally:
            connection.close()

    def change(self, kind, cycle):
        if kind == 0:
            return "POST", "", {"name": "more%d" % cycle, "address": more_address(cycle), "port": self.port, "weight": 1 + cycle % 3}
        if kind == 1 and cycle >= YOUNG:
            return "PATCH", "/more%d" % (cycle - YOUNG), {"admin": "draining"}
        if kind == 2 and cycle >= OLD:
            return "DELETE", "/more%d" % (cycle - OLD), None
        return "PATCH", "/b%d" % (1 + kind), {"weight": 1 + cycle % 7}

    def request(self, connection, kind, method, path, body):
        begin = time.monotonic()
        connection.request(method, self.path + path, json.dumps(body) if body else None, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status // 100 != 2:
            raise Failure("%s %s: %d: %s" % (method, path, answer.status, text.decode(errors="replace")))
        with self.progress:
            self.done[kind] += 1
            self.ended = time.monotonic()
            self.slowest[kind] = max(self.slowest[kind], time.monotonic() - begin)
            self.progress.notify_all()


def run(net, seconds):
    """The test on a started network; return its last line."""
    churn = Churn(net)
    try:
        churn.controller.await_network(net)
        churn.vip.declare(["b1", "b2", "b3"])
        churn.other.declare(["b1", "b2"])
        churn.hold()
        churn.vip.add("b4")
        churn.check("b4 added")
        churn.vip.set("b1", admin="draining")
        churn.check("b1 drained")
        churn.vip.set("b2", weight=5)
        churn.check("b2 weighs 5")
        churn.other.add("b3")
        churn.other.remove("b1")
        churn.other.delete()
        churn.check("another VIP changed, deleted")
        requests = churn.headless()
        for i in range(MORE):
            server = "b%d" % (1 + i % 4)
            net[server].cmd("ip addr add %s/24 dev %s-eth0" % (more_address(i), server))
        changes, more, rate = churn.change_much(seconds)
        churn.check("after many changes")
        churn.vip.remove("b3")
        churn.check("b3 removed, not drained", gone="b3")
        trial.no_errors(churn.controller)
        if any(switch.daemon.poll() is not None for switch in net.switches):
            raise Failure("an ovs-vswitchd has ended")
        return "held=%d requests=%d changes=%d rate=%.0f/s failed=0 broken=0" % (HELD, requests + more, changes, rate)
    finally:
        churn.stop()


def main():
    args = argparse.ArgumentParser(description="Connections held in Mininet while backends, VIPs and the controller change.")
    args.add_argument("--seconds", type=float, default=10, help="of 100 changes each")
    args = args.parse_args()

    def show():
        net = evenflow.network(evenflow.PaperTopo())
        with trial.started(net) as running:
            running.append(connections.Servers([net["b%d" % i] for i in (1, 2, 3, 4)], BACKEND_PORT))
            return run(net, args.seconds)

    return trial.tell("churn", show)


if __name__ == "__main__":
    sys.exit(main())

"""The network that the browser's tests look at: Mininet's topology `paper` with real switches, a controller and web servers.

It is told what to do by lines on standard input, and answers each with one line of JSON on standard output:

    traffic NAME URL CONNECTIONS     fetch from host NAME without end, so many connections a second
    still NAME                       end that
    cut SWITCH / mend SWITCH         take a switch's controller away, and give it back
    pull HOST / plug HOST            take a host's cable away, and give it back
    port / unport SWITCH NAME        add a port of that name, and remove it
    stop / start                     stop the controller, and start it again with what it has stored
    call METHOD PATH [BODY]          ask the controller

The first line tells where the controller is. The end of standard input ends all.
"""
import json
import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, os.pardir)
sys.path.insert(0, os.path.join(ROOT, "mininet"))

import connections  # noqa: E402
import demo  # noqa: E402
import evenflow  # noqa: E402
from mininet.log import setLogLevel  # noqa: E402

FETCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fetch.py")

# A short window, so that the page about loads has something to show soon; and two ports to compare that belong to no VIP.
CONFIG = """
detector:
  window: 10
  step: 2
  cool_down: 10
  sets:
  - name: uplinks
    ports: [{dpid: "0000000000000001", port_no: 10}, {dpid: "0000000000000001", port_no: 11}]
"""


class Network:
    def __init__(self, net):
        self.net, self.controller, self.clients = net, net.controllers[0], {}

    def traffic(self, name, url, rate):
        self.still(name)
        log = os.path.join(evenflow.run_dir(), name + "-fetch.log")
        self.clients[name] = evenflow.start_in(self.net[name], ["/usr/bin/python3", FETCH, url, rate], log)

    def still(self, name):
        evenflow.end(self.clients.pop(name, None))

    def cut(self, switch):
        self.net[switch].vsctl("del-controller", switch)

    def mend(self, switch):
        evenflow.Switch.batchStartup([self.net[switch]])

    def pull(self, host):
        self.net[host].cmd("ip link set %s-eth0 down" % host)

    def plug(self, host):
        self.net[host].cmd("ip link set %s-eth0 up" % host)

    def port(self, switch, name):
        self.net[switch].vsctl("--", "add-port", switch, name, "--", "set", "interface", name, "type=internal")

    def unport(self, switch, name):
        self.net[switch].vsctl("del-port", switch, name)

    def stop(self):
        evenflow.end(self.controller.process)

    def start(self):
        self.controller.start()

    def call(self, method, path, *body):
        return self.controller.call(method, path, json.loads(" ".join(body)) if body else None)


def main():
    setLogLevel("error")
    evenflow.signals_interrupt()
    config = os.path.join(evenflow.run_dir(), "evenflow.yaml")
    with open(config, "w", encoding="utf-8") as out:
        out.write(CONFIG)
    program = os.environ.get("EVENFLOW", evenflow.PROGRAM)
    net, servers, network = evenflow.network(evenflow.PaperTopo(), program=program, flags=["--config", config]), None, None
    try:
        net.start()
        servers = connections.Servers([net[name] for name in demo.BACKENDS], demo.BACKEND_PORT)
        network = Network(net)
        network.controller.await_network(net)
        print(json.dumps({"url": "http://" + network.controller.http}), flush=True)
        for line in sys.stdin:
            what, *args = line.split()
            try:
                answer = {"ok": getattr(network, what)(*args)}
            except Exception as problem:  # pylint: disable=broad-except
                answer = {"error": str(problem)}
            print(json.dumps(answer), flush=True)
    except KeyboardInterrupt:
        pass
    except Exception:
        sys.stderr.write("--- the end of evenflow's log\n%s---\n" % net.controllers[0].tail())
        raise
    finally:
        with evenflow.undisturbed():
            for name in list(network.clients) if network else []:
                network.still(name)
            if servers:
                servers.stop()
            net.stop()


if __name__ == "__main__":
    main()

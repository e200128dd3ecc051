"""Mininet with Evenflow: a switch, a controller, topologies.

The switch runs an ovsdb-server and an ovs-vswitchd of its own, in a network
namespace and a run directory of its own, so no system service is needed or
disturbed, and each switch has its own conntrack. Open vSwitch dials `unix:`
controllers only inside its own run directory; the controller therefore
listens in each of them, and Unix sockets cross namespaces.

    make build
    mn --custom mininet/evenflow.py --switch evenflow --controller evenflow --topo paper --mac

Topologies here are `paper` and `ring`; Mininet's own (single, linear, tree)
work as well, and these work with Mininet's ordinary switches. The REST
interface is at http://127.0.0.1:8080, or as EVENFLOW_HTTP says. With
`--controller evenflow,config=FILE` the controller has a configuration file.

As a library (see demo.py): `network(topo)`.
"""
import atexit
import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from mininet.link import Link
from mininet.log import error
from mininet.net import Mininet
from mininet.node import Controller as BaseController
from mininet.node import Node
from mininet.node import Switch as BaseSwitch
from mininet.topo import Topo

# mn reads this file without setting __file__.
HERE = os.path.dirname(os.path.abspath((lambda: 0).__code__.co_filename))
PROGRAM = os.path.join(HERE, os.pardir, "bin", "evenflow")
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
LIMIT = 60  # seconds for anything here to start or stop, on a busy machine too
OFFLOADS = "tx off rx off tso off gso off gro off"

_run_dir = None


def run_dir():
    """The folder of this process's switches and controller, removed at its end.

    Its name holds the process's number; those of dead processes are removed.
    """
    global _run_dir
    if _run_dir is None:
        for name in os.listdir(tempfile.gettempdir()):
            match = re.fullmatch(r"evenflow-mn-(\d+)-\w+", name)
            if match and not os.path.exists("/proc/" + match.group(1)):
                shutil.rmtree(os.path.join(tempfile.gettempdir(), name), ignore_errors=True)
        _run_dir = tempfile.mkdtemp(prefix="evenflow-mn-%d-" % os.getpid())
        atexit.register(shutil.rmtree, _run_dir, ignore_errors=True)
    return _run_dir


_libc = ctypes.CDLL(None)


def die_with_parent():
    """In a child: be killed when this process dies, however it does."""
    pr_set_pdeathsig = 1
    _libc.prctl(pr_set_pdeathsig, signal.SIGKILL)


def popen_in(node, argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **env):
    """A program in a node's namespace, deaf to Ctrl-C, that does not outlive this process."""
    return subprocess.Popen(["mnexec", "-a", str(node.pid)] + argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                            env=dict(os.environ, **env), preexec_fn=die_with_parent, start_new_session=True)


def start_in(node, argv, log, **env):
    """popen_in with the output appended to the file log."""
    with open(log, "ab") as out:
        return popen_in(node, argv, out, out, **env)


def end(process, patience=LIMIT):
    """End a child and wait for it; after `patience` seconds kill it."""
    if process is None:
        return
    process.terminate()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def processor_time(process):
    """The seconds of processor time that a child has used, in all its threads."""
    with open("/proc/%d/stat" % process.pid, encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(process):
    """The memory of a child that is in RAM, in kB."""
    with open("/proc/%d/status" % process.pid, encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def signals_interrupt():
    """Let each signal that asks for the end raise KeyboardInterrupt with its name, so that `finally` cleans up."""
    def interrupt(number, _frame):
        raise KeyboardInterrupt(signal.Signals(number).name)
    for number in SIGNALS:
        signal.signal(number, interrupt)


@contextlib.contextmanager
def undisturbed():
    """Hold such signals back meanwhile: cleaning up must come to its end."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


class Switch(BaseSwitch):
    """Open vSwitch with daemons of its own (userspace datapath)."""

    def __init__(self, name, protocols="OpenFlow13,OpenFlow15", **params):
        params["inNamespace"] = True
        BaseSwitch.__init__(self, name, **params)
        self.dir = os.path.join(run_dir(), name)
        os.mkdir(self.dir)
        self.protocols = protocols
        self.database = self.daemon = None

    def controller_socket(self):
        """Where a controller for this switch listens."""
        return os.path.join(self.dir, "ctl.sock")

    def vsctl(self, *args):
        """Run ovs-vsctl on the switch's own database; an error names the switch and the command."""
        return self.tool("ovs-vsctl", "--timeout=%d" % LIMIT, "--db=unix:%s/db.sock" % self.dir, *args)

    def ofctl(self, command, *args):
        """Run `ovs-ofctl COMMAND BRIDGE ARGS` in OpenFlow 1.5."""
        return self.tool("ovs-ofctl", "-O", "OpenFlow15", command, "unix:%s/%s.mgmt" % (self.dir, self.name), *args)

    def appctl(self, *args):
        """Run `ovs-appctl ARGS` on the switch's own ovs-vswitchd."""
        return self.tool("ovs-appctl", "-t", "%s/ovs-vswitchd.%d.ctl" % (self.dir, self.daemon.pid), *args)

    def tool(self, *argv):
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)
        if done.returncode:
            raise RuntimeError("%s: %s: %s" % (self.name, " ".join(argv), done.stderr.strip()))
        return done.stdout

    def run_daemon(self, program, *args):
        where = dict.fromkeys(("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"), self.dir)
        return start_in(self, [program, "--pidfile", "-vconsole:off", "--log-file=%s/%s.log" % (self.dir, program)] + list(args),
                        os.path.join(self.dir, program + ".out"), **where)

    def start(self, controllers):
        """Start the daemons; batchStartup waits for them. The controller is whoever listens at controller_socket()."""
        for family in ("all", "default"):  # no router solicitations of the kernel's own
            self.cmd("echo 1 >/proc/sys/net/ipv6/conf/%s/disable_ipv6" % family)
        bridge = ["--", "add-br", self.name, "--", "set", "bridge", self.name, "datapath_type=netdev", "fail_mode=secure",
                  "protocols=" + self.protocols, "other_config:datapath-id=" + self.dpid, "other_config:disable-in-band=true"]
        for intf in self.intfList():
            if intf.name == "lo":
                continue
            for side in (intf.link.intf1, intf.link.intf2):
                if side is intf or not isinstance(side.node, Switch):
                    side.node.cmd("ethtool -K %s %s" % (side.name, OFFLOADS))
            bridge += ["--", "add-port", self.name, intf.name, "--", "set", "interface", intf.name,
                       "ofport_request=%d" % self.ports[intf]]
        self.tool("ovsdb-tool", "create", self.dir + "/conf.db", SCHEMA)
        self.database = self.run_daemon("ovsdb-server", self.dir + "/conf.db", "--remote=punix:%s/db.sock" % self.dir)
        give_up = time.monotonic() + LIMIT
        while not os.path.exists(self.dir + "/db.sock") and time.monotonic() < give_up:
            time.sleep(0.005)  # else ovs-vsctl would wait a whole second before it tries again
        self.vsctl("--retry", "--no-wait", "--", "init", *bridge)
        self.daemon = self.run_daemon("ovs-vswitchd", "unix:%s/db.sock" % self.dir)

    @classmethod
    def batchStartup(cls, switches):
        """Wait until each switch has its ports, then let it dial its controller."""
        for switch in switches:
            switch.vsctl("--id=@c", "create", "controller", 'target="unix:%s"' % switch.controller_socket(), "max_backoff=1000",
                         "connection_mode=out-of-band", "--", "set", "bridge", switch.name, "controller=@c")
        return switches

    def connected(self):
        """Is a controller connected? (for `mn --wait`)"""
        return "true" in self.vsctl("get", "controller", self.name, "is_connected")

    def stop(self, deleteIntfs=True):
        end(self.daemon)
        end(self.database)
        self.daemon = self.database = None
        shutil.rmtree(self.dir, ignore_errors=True)
        BaseSwitch.stop(self, deleteIntfs)


class Controller(BaseController):
    """`evenflow serve`, with the configuration file `config` if there is one, listening in the run directory of each Switch made
    so far in this process."""

    def __init__(self, name="c0", http=None, program=PROGRAM, config=None, flags=(), **params):
        self.http = http or os.environ.get("EVENFLOW_HTTP", "127.0.0.1:8080")
        self.program, self.flags, self.process = program, (["--config", config] if config else []) + list(flags), None
        self.dir = os.path.join(run_dir(), "controller-" + name)
        os.makedirs(self.dir, exist_ok=True)
        self.log = os.path.join(self.dir, "evenflow.log")
        BaseController.__init__(self, name, **params)

    def checkListening(self):
        """Nothing to do: Unix sockets in run directories of our own."""

    def start(self):
        argv, sockets = [self.program, "serve", "--http", self.http, "--data", os.path.join(self.dir, "data")], []
        for entry in sorted(os.listdir(run_dir())):
            folder = os.path.join(run_dir(), entry)
            if folder != self.dir and os.path.isdir(folder) and not entry.startswith("controller-"):
                sockets.append(folder + "/ctl.sock")
                argv += ["--openflow", "unix:" + sockets[-1]]
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(argv + self.flags, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                            preexec_fn=die_with_parent, start_new_session=True)
        give_up = time.monotonic() + LIMIT
        while self.process.poll() is None and not all(map(os.path.exists, sockets)) and time.monotonic() < give_up:
            time.sleep(0.005)
        if self.process.poll() is not None:  # raised, it would have `mn` clean up what is not its own
            error("*** evenflow has ended with code %d: %s\n" % (self.process.returncode, self.tail(3).strip()))

    def kill(self):
        """Let it die at once; start() goes on with the same data."""
        self.process.kill()
        self.process.wait()

    def cpu(self):
        """The seconds of processor time that it has used."""
        return processor_time(self.process)

    def stop(self, *args, **kwargs):
        end(self.process)
        self.process = None
        shutil.rmtree(self.dir, ignore_errors=True)
        Node.stop(self, *args, **kwargs)

    def tail(self, lines=40):
        """The end of the controller's log, empty before it was started."""
        if not os.path.exists(self.log):
            return ""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return "".join(log.readlines()[-lines:])

    def errors(self):
        """What the controller has logged as errors."""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return [line.strip() for line in log if " level=error " in line]

    def call(self, method, path, body=None):
        """One request to the REST interface: the decoded answer, or RuntimeError with the problem told."""
        request = urllib.request.Request("http://%s%s" % (self.http, path), method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            # never by a proxy
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=LIMIT) as answer:
                text = answer.read()
        except urllib.error.HTTPError as problem:
            with problem:
                told = problem.read().decode(errors="replace")
            raise RuntimeError("%s %s: %s: %s" % (method, path, problem, told.strip())) from problem
        except OSError as problem:
            raise RuntimeError("%s %s: %s" % (method, path, problem)) from problem
        try:
            return json.loads(text)
        except ValueError:
            return text.decode(errors="replace")

    def await_(self, what, check, limit=LIMIT):
        """Call check until it returns something true, which is returned; RuntimeError after `limit` seconds."""
        give_up, told = time.monotonic() + limit, ""
        while True:
            if self.process.poll() is not None:
                raise RuntimeError("evenflow ended with code %s while waiting for %s" % (self.process.returncode, what))
            try:
                found = check()
                if found:
                    return found
                told = ""
            except RuntimeError as problem:
                told = ": %s" % problem
            if time.monotonic() > give_up:
                raise RuntimeError("waited %d s for %s%s" % (limit, what, told))
            time.sleep(0.1)

    def await_network(self, net):
        """Wait until the controller is ready and knows each switch, cable and port of the network."""
        dpids = {switch.dpid for switch in net.switches}
        cables = sum(isinstance(l.intf1.node, Switch) and isinstance(l.intf2.node, Switch) for l in net.links)
        items = lambda path: self.call("GET", "/api/v1" + path)["items"]
        self.await_("readiness", lambda: self.call("GET", "/readyz") is not None)
        self.await_("%d switches" % len(dpids), lambda: {s["dpid"] for s in items("/switches") if s["connected"]} == dpids)
        self.await_("%d links" % cables, lambda: len(items("/links")) == cables)
        for switch in net.switches:
            ports, path = {switch.ports[i] for i in switch.intfList() if i.name != "lo"}, "/switches/%s/ports" % switch.dpid
            self.await_("the ports of " + switch.name,
                        lambda: ports <= {p["port_no"] for p in items(path) if p["kind"] in ("edge", "link")})


def free_address():
    """127.0.0.1:8080, or another port if that one is taken."""
    for port in (8080, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return "127.0.0.1:%d" % probe.getsockname()[1]
    raise RuntimeError("no free port on 127.0.0.1")


def network(topo, **controller):
    """A Mininet of this topology with our switches and controller, built but not started."""
    net = Mininet(topo=topo, switch=Switch, controller=None, build=False, autoSetMacs=True)
    net.build()
    net.addController("c0", Controller, http=free_address(), **controller)
    return net


class PaperTopo(Topo):
    """Clients, three switches and four servers, as in Zhong, Fang and Cui (2015).

    c1 .. cN at s1 (10.0.0.11 and up), b1, b2 at s2, b3, b4 at s3 (10.0.0.1 to 10.0.0.4).
    """

    def build(self, clients=2):
        s1, s2, s3 = [self.addSwitch("s%d" % i) for i in (1, 2, 3)]
        self.addLink(s1, s2, port1=10, port2=10)
        self.addLink(s1, s3, port1=11, port2=10)
        for i in range(1, int(clients) + 1):
            self.addLink(self.addHost("c%d" % i, ip="10.0.0.%d/24" % (10 + i)), s1, port2=i if i < 10 else i + 2)
        for i, switch in enumerate((s2, s2, s3, s3), start=1):
            self.addLink(self.addHost("b%d" % i, ip="10.0.0.%d/24" % i), switch, port2=(i - 1) % 2 + 1)


class RingTopo(Topo):
    """N switches in a ring, each with one host."""

    def build(self, n=4):
        switches = [self.addSwitch("s%d" % (i + 1)) for i in range(int(n))]
        for i, switch in enumerate(switches):
            self.addLink(self.addHost("h%d" % (i + 1)), switch, port2=1)
        for i, switch in enumerate(switches):
            self.addLink(switch, switches[(i + 1) % len(switches)], port1=2, port2=3)


# What mn finds.
switches = {"evenflow": Switch}
controllers = {"evenflow": Controller}
topos = {"paper": PaperTopo, "ring": RingTopo}

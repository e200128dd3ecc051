"""Load balancers made by hand, for comparison: rules and groups of ovs-ofctl on a network of gateways.py, no controller.

Beside the backend (Stateless): a gateway chooses a backend for each packet by a select group and
keeps nothing; the backend's edge translates, each backend in a conntrack zone of its own. A packet
of an unknown connection is taken for the first of a new one, and the backend resets it.

On the gateway (Stateful): the gateway translates, and conntrack remembers its choice.
"""
import collections

from gateways import FIRST_GATEWAY

VIP, VIP_MAC, PORT, BACKEND_PORT = "10.0.255.1", "02:ef:00:00:00:01", 80, 8080
HASH = "hash,fields(ip_src,ip_dst,ip_proto,tcp_src,tcp_dst)"
MOST = 16  # buckets of a backend

# How a group chooses. selection: its method; by_place: bucket ids are places in the list, else a backend keeps its own;
# weighted: a weight is the bucket's, else a number of buckets; replaced: each change makes a new group, which the rules are
# led to, and deletes the old one, else the group is modified.
Choice = collections.namedtuple("Choice", "selection by_place weighted replaced", defaults=(False, False, False))


def buckets(weights, choice):
    """[(bucket id, weight, backend)] of a list of backends, {number: weight} in the list's order."""
    if choice.weighted:
        several = [(backend * MOST, weight, backend) for backend, weight in weights.items()]
    else:
        several = [(backend * MOST + i, 1, backend) for backend, weight in weights.items() for i in range(weight)]
    if choice.by_place:
        return [(place, weight, backend) for place, (_, weight, backend) in enumerate(several)]
    return sorted(several)


class ByHand:
    """What both kinds have in common. Backends are called b1, b2, …; `initial` are those of the beginning."""

    def __init__(self, net, initial, choice, draw, gateways=1):
        self.net, self.choice, self.draw, self.group = net, choice, draw, 0
        self.first, self.gateways, self.edges = net["s1"], [net[s] for s in net.topo.gateways], [net[s] for s in net.topo.edges]
        self.used = list(range(gateways))  # of the gateways, a power of two
        self.weights = {int(name[1:]): 1 for name in initial}
        self.backends = [int(host.name[1:]) for host in net.hosts if host.name[0] == "b"]
        self.clients = [host for host in net.hosts if host.name[0] == "c"]
        self._addresses()
        self._choose()
        self._forward()

    def _addresses(self):
        """Hosts that need not ask for each other's addresses."""
        for host in self.net.hosts:
            known = {VIP: VIP_MAC} if host in self.clients else {c.IP(): c.MAC() for c in self.clients}
            for address, mac in known.items():
                host.cmd("ip neigh replace %s lladdr %s dev %s nud permanent" % (address, mac, host.defaultIntf().name))

    def mac(self, backend):
        return self.net["b%d" % backend].MAC()

    def address(self, backend):
        return self.net["b%d" % backend].IP()

    # What can be changed.

    def add(self, name):
        """Add a backend to the list, at a place that is drawn: lists are often sorted by address."""
        items = list(self.weights.items())
        items.insert(self.draw.randrange(len(items) + 1), (int(name[1:]), 1))
        self.weights = dict(items)
        self._choose()

    def drain(self, name):
        """Choose a backend no more; what knows its connections goes on serving them."""
        del self.weights[int(name[1:])]
        self._choose()

    remove = drain  # its connections end as they may

    def weigh(self, name, weight):
        self.weights[int(name[1:])] = weight
        self._choose()

    def move(self):
        """Lead everything over the next gateway, both ways."""
        self.used = [(g + 1) % len(self.gateways) for g in self.used]
        self._forward()

    # How it is done.

    def _choose(self):
        """Give the gateways their group anew."""
        text = ",".join(["type=select", "selection_method=" + self.choice.selection] + [
            "bucket=bucket_id=%d,weight=%d,actions=%s" % (number, weight, self.bucket(backend))
            for number, weight, backend in buckets(self.weights, self.choice)])
        old = self.group
        if not old or self.choice.replaced:
            self.group += 1
        for gateway in self.gateways:
            gateway.ofctl("mod-group" if self.group == old else "add-group", "group_id=%d,%s" % (self.group, text))
            gateway.become(self.gateway_rules())
            if old not in (0, self.group):
                gateway.ofctl("del-groups", "group_id=%d" % old)

    def _forward(self):
        """Give the other switches their rules anew."""
        self.first.become(self.first_rules())
        for e, edge in enumerate(self.edges):
            edge.become(self.edge_rules([b for b in self.backends if self.net.topo.edge_of(b) == e]))

    def first_rules(self):
        """Of the clients' switch, which is their router."""
        rules = []
        for client in self.clients:
            port = int(client.name[1:])
            rules += self.spread("in_port=%d,tcp" % port, "tcp_src") + ["dl_dst=%s,actions=output:%d" % (client.MAC(), port)]
        return rules

    def spread(self, match, field):
        """Rules that lead to the gateways in use, by the last bits of the client's port, which are in this field: so an
        answer goes to the gateway that the question has come by."""
        only = ",%s=%%d/%d" % (field, len(self.used) - 1) if len(self.used) > 1 else ""
        return [match + (only and only % i) + ",actions=output:%d" % (FIRST_GATEWAY + g) for i, g in enumerate(self.used)]

    def to_edge(self, backend):
        """The action at a gateway that sends a packet to a backend."""
        return "set_field:%s->eth_dst,output:%d" % (self.mac(backend), 2 + self.net.topo.edge_of(backend))

    def close(self):
        """Leave switches without rules and connections."""
        for switch in self.net.switches:
            switch.ofctl("del-flows")
            switch.ofctl("del-groups")
            switch.appctl("dpctl/flush-conntrack")


class Stateless(ByHand):
    """A choice for each packet at the gateway, translation beside the backend."""

    def bucket(self, backend):
        return self.to_edge(backend)

    def gateway_rules(self):
        return ["in_port=1,tcp,nw_dst=%s,tp_dst=%d,actions=group:%d" % (VIP, PORT, self.group)] + [
            "in_port=%d,ip,actions=output:1" % (2 + e) for e in range(len(self.edges))]

    def edge_rules(self, here):
        rules = []
        for b in here:
            rules += [
                "table=0,tcp,dl_dst=%s,nw_dst=%s,tp_dst=%d,actions=ct(table=1,zone=%d,nat)" % (self.mac(b), VIP, PORT, b),
                "table=1,priority=10,ct_state=+trk+new,tcp,dl_dst=%s,actions=ct(commit,table=2,zone=%d,nat(dst=%s:%d))" % (
                    self.mac(b), b, self.address(b), BACKEND_PORT),
                "table=1,priority=5,ip,dl_dst=%s,actions=resubmit(,2)" % self.mac(b),
                "table=2,dl_dst=%s,actions=output:%d" % (self.mac(b), b),
                "table=0,tcp,in_port=%d,nw_src=%s,tp_src=%d,actions=ct(table=3,zone=%d,nat)" % (b, self.address(b), BACKEND_PORT, b),
            ]
        return rules + self.spread("table=3,tcp", "tcp_dst")


class Stateful(ByHand):
    """A choice for each connection, which the gateway's conntrack remembers; the gateway translates both ways."""

    def bucket(self, backend):
        return "ct(commit,table=2,zone=1,nat(dst=%s:%d),exec(set_field:%d->ct_mark))" % (self.address(backend), BACKEND_PORT, backend)

    def gateway_rules(self):
        return [
            "table=0,in_port=1,tcp,nw_dst=%s,tp_dst=%d,actions=ct(table=1,zone=1,nat)" % (VIP, PORT),
            "table=1,priority=10,ct_state=+trk+new,tcp,actions=group:%d" % self.group,
            "table=1,priority=5,actions=resubmit(,2)",
            "table=3,ip,nw_src=%s,actions=output:1" % VIP,
        ] + ["table=0,in_port=%d,tcp,tp_src=%d,actions=ct(table=3,zone=1,nat)" % (2 + e, BACKEND_PORT) for e in range(len(self.edges))
             ] + ["table=2,ct_mark=%d,actions=%s" % (b, self.to_edge(b)) for b in self.backends]

    def edge_rules(self, here):
        rules = ["dl_dst=%s,actions=output:%d" % (self.mac(b), b) for b in here]
        return rules + [rule for b in here for rule in self.spread("in_port=%d,tcp" % b, "tcp_dst")]

"""A network in which gateways stand between clients and the switches that have the backends."""
from mininet.topo import Topo

CLIENT, BACKEND = "10.0.1.%d/16", "10.0.0.%d/16"
FIRST_GATEWAY, FIRST_EDGE = 200, 220  # ports of a switch of clients or backends that lead to gateways, and directly to each other


class Gateways(Topo):
    """Clients c1, c2, … at s1; then the gateways; then the edges, which have the backends b1, b2, … in turn.

    Each gateway has a cable to s1, its port 1, and one to each edge, from port 2 on. With `direct` s1 and the edges are
    joined as well, so that what need not pass a gateway does not.
    """

    def build(self, backends=3, clients=1, gateways=2, edges=3, direct=False):
        first, *rest = [self.addSwitch("s%d" % i) for i in range(1, 2 + gateways + edges)]
        self.gateways, self.edges = rest[:gateways], rest[gateways:]
        for g, gateway in enumerate(self.gateways):
            self.addLink(first, gateway, port1=FIRST_GATEWAY + g, port2=1)
            for e, edge in enumerate(self.edges):
                self.addLink(gateway, edge, port1=2 + e, port2=FIRST_GATEWAY + g)
        for e, edge in enumerate(self.edges if direct else []):
            self.addLink(first, edge, port1=FIRST_EDGE + e, port2=FIRST_EDGE)
        for i in range(1, clients + 1):
            self.addLink(self.addHost("c%d" % i, ip=CLIENT % i), first, port2=i)
        for i in range(1, backends + 1):
            self.addLink(self.addHost("b%d" % i, ip=BACKEND % i), self.edges[self.edge_of(i)], port2=i)

    def edge_of(self, backend):
        """Which edge has a backend."""
        return backend % len(self.edges)

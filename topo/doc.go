// Package topo keeps the topology: ports, links found by LLDP, hosts heard by ARP and ND; shortest paths and the spanning
// tree. It is pure: events and the time go in, an immutable [Snapshot] and the packets to send come out. What it is told by
// others it believes only as far as it can be proved: LLDP by its HMAC, a host that moves by asking at its old place.
package topo

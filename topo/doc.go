// Package topo keeps the topology: ports, links found by LLDP, hosts heard by ARP and ND; shortest paths and the spanning
// tree. It is pure: events and the time go in, an immutable [Snapshot] and the packets to send come out.
package topo

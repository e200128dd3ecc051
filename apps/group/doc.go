// Package group is the app of mode group: the switch itself chooses a backend, by a select group, for the first packet of a
// connection, and conntrack at the client's edge switch keeps the connection there and rewrites its addresses.
//
// A packet to a VIP goes from table 30 through conntrack to table 41. If its connection is known, its ct_mark names the
// endpoint (one VIP and backend), whose rule sends it on; if not, the VIP's group writes an endpoint to a register, and
// table 42 commits it, with NAT to the backend. Answers pass conntrack at the client's edge, tables 70 and 71. A backend that
// is given its own connection meets the VIP's address as its client, by a second zone; tables 20 to 22 lead its answers back.
//
// A bucket's id is made of the backend's and stays for ever, each bucket weighs 1, and a backend has as many as it weighs:
// Open vSwitch hashes the connection with each id and takes the highest, so that a change moves no more new connections than
// those that must move, and no old one.
//
// What conntrack says of a TCP packet's state decides nothing but whether the packet may begin a connection: a port that
// is used again soon is +inv there, and is translated and passed all the same. Where conntrack has lost a connection, or has
// no room, the rules of an endpoint that serves a single port of a single VIP translate TCP without it.
//
// All that goes on without a controller. It is needed to refuse: it ends the connections of backends that have gone, by RST.
package group

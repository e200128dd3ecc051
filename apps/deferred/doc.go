// Package deferred is the app of mode deferred: the client's edge switch, the gateway, chooses a backend for each packet anew
// and keeps nothing; the backend's own edge switch translates, and has the connection in its conntrack. So gateways may come
// and go.
//
// A packet to a VIP goes from table 30 to the group of the VIP's current generation, which writes the chosen backend's MAC, and
// is forwarded to that backend's edge. There tables 70 and 72 ask conntrack, in one zone for all backends of the switch. What
// is known is delivered by its ct_mark, the endpoint (a VIP and a backend); a SYN is accepted, and committed with NAT to the
// backend. Answers pass the same zone where they enter, tables 20 and 23.
//
// A change of a VIP's set of backends moves some of its live connections to backends that do not know them. So it makes a
// generation, with a group of its own, and the older ones are kept: an edge that gets a packet of an unknown connection, or of
// a new flow of datagrams, looks where the older generations would have sent it, newest first, and sends it to the first edge
// that is not itself and not asked yet. This walk, tables 76 and 77, is by resubmit alone: Open vSwitch drops a packet that
// recirculates too often. A bucket hands its choice back on the stack, since a group undoes what is written to a packet. Who
// was asked, and by which generation, stands in the packet's source MAC, a marker. If nobody knows the connection it belongs to
// the current choice, and that edge commits it.
//
// A backend that is gone for good, with its connections, leaves all generations in place: the choice among the others is the
// same without it.
package deferred

// Package othello is the app of mode othello: the switch chooses a backend by a table of codes, and keeps no state; what a change
// of the table would move is pinned.
//
// A packet to a VIP is hashed by the action multipath to one of 4,096 Dcodes (Concury's word). Each Dcode has an owner, so the
// choice of the next packet is the same, and the controller can compute it, for the hash is one that all builds of Open
// vSwitch have alike. Owners have as many Dcodes as their weights say, to one in some 30 ([Codes]); a change of the pool
// moves no more than it must, in blocks that few rules describe ([Codes.Rules]).
//
// A live connection whose Dcode has moved is displaced, and gets a pin: its old backend's pin value, in an Othello (package
// othello at the module's root) of the displaced connections alone, 30 cells of 12 bits to a rule. Only packets of Dcodes with a
// displaced connection ask it ([Generation]). Any other value than a pin's means that the owner stands, so new connections follow
// the table.
//
// Sources: Shi et al., "Concury" (SoCC 2020), for the codes and the Othello; the pins, and their use on a switch, are our own.
package othello

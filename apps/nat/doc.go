// Package nat is the app of mode nat: the controller chooses a backend for the first packet of each connection, and the
// client's edge switch rewrites addresses by an exact pair of rules, one for each direction.
//
// Packets to a VIP come through table 30 to table 40, which holds the forward rules; what has none is punted. The reverse
// rules are in table 70 of the same switch or, when a backend has been given its own connection (hairpin), in table 20.
//
// A connection is its pair: while one half sees traffic the other is put back when it goes idle; without traffic both end.
// The [App] keeps a table of connections, so that a packet whose rule is missing finds its backend again, and so that
// connections are counted exactly: from pairs installed and rules ended, never from bytes. What is not in the table is
// never balanced anew but refused.
//
// Without a controller old connections live on and new ones wait.
package nat

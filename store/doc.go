// Package store keeps what must outlive the process: VIPs, ids given out, the topology, keys. It holds bytes by bucket and
// key; what they mean is known to who puts them.
//
// What Update has answered is on disk: a kill, or a loss of power as far as the disk keeps its promises, loses none of it.
package store

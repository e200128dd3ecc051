// Package ovshash computes the hashes by which Open vSwitch chooses, bit by bit as it does: that of select groups with
// selection_method=hash, and those of the action multipath. It knows no networks: a [Flow] is the headers as they are when the
// action runs.
//
// Open vSwitch has its general hash in more than one build (lib/hash.h), so the same group chooses differently on machines
// whose programs were compiled for different processors: see [Build]. The hash "on the wire", Jenkins' lookup3 (lib/jhash.c),
// is the same in all. Big-endian machines read words the other way round; they are not here.
//
// Sources, each the same from Open vSwitch 2.17 to 3.7: lib/hash.h, lib/hash.c, lib/hash-aarch64.h, lib/jhash.c, lib/multipath.c,
// flow_hash_fields in lib/flow.c, and pick_hash_fields_select_group in ofproto/ofproto-dpif-xlate.c.
package ovshash

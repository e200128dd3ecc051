// Package othello is a dictionary that does not hold its keys: two arrays of cells and two hash functions.
//
//	value(key) = A[ha(key)] xor B[hb(key)]
//
// A lookup is two reads that do not depend on each other, whatever the key, and 2.34 cells of memory per key: 3.5 bytes at
// the 12 bits that a load balancer needs. A key that was put in always gives its own value; there are no false hits between
// keys. A key that was never put in gives some value, always the same, near-uniform over all of them: that is the price (an
// Othello cannot say "not a member") and, in a load balancer, the use (it is the choice for a new connection).
//
// Keys are the edges of a bipartite graph between the cells of A and those of B. As long as the graph has no cycle, any
// values can be had; where a key would close one, new hash functions are drawn and all is built anew, which happens to fewer
// than every second filling.
//
//   - [Uint16] and [Packed] are data planes: immutable, for any number of readers, asked for one key or for many at a time;
//     made by [BuildUint16], [BuildPacked] or from one of the following.
//   - [Othello] can be changed: keys come, go and change their values in constant time on average.
//   - [Map] also knows its keys (and so is no smaller than another map): "is this key in?" by one lookup and one comparison.
//     It exports data planes with any values for its keys, without hashing one again. Concury calls it OthelloMap.
//   - [Assign] is the heart, for those who bring hash functions of their own.
//
// Keys are 64-bit numbers. Who has longer ones hashes them (hash/maphash) to 64 bits; Map takes that hash, keeps the whole
// key and finds the two with one hash, should they ever meet. An Othello and a Map serve one goroutine; readers beside it
// use a data plane, and an atomic.Pointer to swap in the next one (see the example).
//
// The hash functions are seeded but no cipher: where an enemy chooses keys and sees values, hash the keys first with a
// secret (hash/maphash).
//
// Sources: Yu, Belazzougui, Qian, Zhang, "Memory-efficient and Ultra-fast Network Lookup and Forwarding using Othello
// Hashing", IEEE/ACM Transactions on Networking 26(3), 2018. Shi, Yu, Xie, Li, Li, Zhang, Qian, "Concury: A Fast and
// Light-weight Software Cloud Load Balancer", SoCC 2020.
package othello

package ovshash

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crc is what the processors' CRC32C instructions do: without the inversions before and after that are usual.
func crc(hash uint32, p []byte) uint32 { return ^crc32.Update(^hash, castagnoli, p) }

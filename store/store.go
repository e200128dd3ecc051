package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Buckets. The keys of each are its user's.
const (
	BucketVIPs        = "vips"        // [IDKey] of the VIP's id → vip.Encode
	BucketTopology    = "topology"    // ports, links and hosts
	BucketKeys        = "keys"        // those that authenticate LLDP, and agents
	BucketEndpoints   = "endpoints"   // ids of (VIP, backend) as conntrack marks
	BucketZones       = "zones"       // conntrack zones of switches, and of addresses of VIPs
	BucketGenerations = "generations" // [IDKey] of the VIP's id → the sets of backends between which it has divided connections
	BucketDebts       = "debts"       // a switch's datapath id → what it is still to forget of backends that have gone
	BucketEdges       = "edges"       // a switch's datapath id → its bit among those with backends, 2 bytes
	BucketConfig      = "config"      // what was last applied from the configuration file
	BucketEvents      = "events"      // [IDKey] of the event's id → what happened; the latest alone
	BucketWeights     = "weights"     // [IDKey] of the VIP's id → weights in effect that are not the declared ones
	bucketIDs         = "ids"         // the last id given, by sequence
	bucketMeta        = "meta"        // schema
)

func buckets() []string {
	return []string{BucketVIPs, BucketTopology, BucketKeys, BucketEndpoints, BucketZones, BucketGenerations, BucketDebts, BucketEdges, BucketConfig, BucketEvents, BucketWeights, bucketIDs, bucketMeta}
}

// Schema is the version of the layout that this version of the program reads and writes.
const Schema = 1

// Errors.
var (
	ErrLocked    = errors.New("another evenflow uses it")
	ErrNewer     = errors.New("written by a later version of evenflow")
	ErrBucket    = errors.New("no such bucket")
	ErrExhausted = errors.New("ids are used up")
	ErrReadOnly  = errors.New("write in a read transaction")
	ErrClosed    = errors.New("store is closed")
	ErrDamaged   = errors.New("damaged")
	ErrStore     = errors.New("there is a store already")
	ErrNoFile    = errors.New("a store in memory has no backup")
)

// Store is a transactional store of bytes, safe for use from many goroutines.
type Store interface {
	// View reads one state of the store.
	View(func(Tx) error) error
	// Update writes all or, when the function returns an error, nothing. It returns after the data is synced to disk.
	// Updates run one at a time.
	Update(func(Tx) error) error
	// Backup writes one state of the store for [Restore]. While it writes to a slow w the file may grow: give it a fast one.
	Backup(w io.Writer) error
	Close() error
}

// Tx is a transaction, valid during the call it was given to. Slices that it returns are copies; those put are copied.
type Tx interface {
	// Get is the value of a key, nil if there is none.
	Get(bucket, key string) ([]byte, error)
	Put(bucket, key string, value []byte) error
	// Delete removes a key; that there is none is no error.
	Delete(bucket, key string) error
	// List calls for each key of a bucket in ascending order of bytes. The bucket must not be changed meanwhile.
	List(bucket string, each func(key string, value []byte) error) error
}

// IDKey is the key of a number such that keys sort as numbers do.
func IDKey(id uint64) string { return fmt.Sprintf("%020d", id) }

// NextID gives out the next number of a sequence, from 1 to limit. Once the transaction is answered it is never given
// again, whatever becomes of it.
func NextID(tx Tx, sequence string, limit uint64) (uint64, error) {
	last, err := LastID(tx, sequence)
	if err != nil {
		return 0, err
	}
	if last >= limit {
		return 0, fmt.Errorf("store: sequence %q: %w: %d", sequence, ErrExhausted, limit)
	}
	return last + 1, tx.Put(bucketIDs, sequence, binary.BigEndian.AppendUint64(nil, last+1))
}

// LastID is the last number of a sequence that has been given out, 0 if none was.
func LastID(tx Tx, sequence string) (uint64, error) {
	b, err := tx.Get(bucketIDs, sequence)
	if err != nil || b == nil {
		return 0, err
	}
	if len(b) != 8 {
		return 0, fmt.Errorf("store: sequence %q holds %d bytes, want 8", sequence, len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}

// RaiseID notes that the numbers of a sequence up to last have been given out.
func RaiseID(tx Tx, sequence string, last uint64) error {
	have, err := LastID(tx, sequence)
	if err != nil || have >= last {
		return err
	}
	return tx.Put(bucketIDs, sequence, binary.BigEndian.AppendUint64(nil, last))
}

package store

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// Memory is a complete store without a disk, for tests. It behaves as the one of [Open], but that it keeps nothing
// and has no backup.
func Memory() Store {
	m := &memory{data: make(map[string]map[string][]byte)}
	for _, name := range buckets() {
		m.data[name] = make(map[string][]byte)
	}
	return m
}

type memory struct {
	mu     sync.RWMutex
	data   map[string]map[string][]byte
	closed bool
}

func (m *memory) View(f func(Tx) error) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return ErrClosed
	}
	return f(memoryTx{m.data, false})
}

func (m *memory) Update(f func(Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	next := make(map[string]map[string][]byte, len(m.data))
	for name, b := range m.data {
		next[name] = maps.Clone(b)
	}
	if err := f(memoryTx{next, true}); err != nil {
		return err
	}
	m.data = next
	return nil
}

func (m *memory) Backup(io.Writer) error { return ErrNoFile }

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

type memoryTx struct {
	data     map[string]map[string][]byte
	writable bool
}

func (t memoryTx) bucket(name string, write bool) (map[string][]byte, error) {
	b, ok := t.data[name]
	if !ok {
		return nil, fmt.Errorf("store: %w: %q", ErrBucket, name)
	}
	if write && !t.writable {
		return nil, fmt.Errorf("store: %s: %w", name, ErrReadOnly)
	}
	return b, nil
}

func (t memoryTx) Get(bucket, key string) ([]byte, error) {
	b, err := t.bucket(bucket, false)
	return bytes.Clone(b[key]), err
}

func (t memoryTx) Put(bucket, key string, value []byte) error {
	b, err := t.bucket(bucket, true)
	if err != nil {
		return err
	}
	if key == "" {
		return fmt.Errorf("store: put %s/: key required", bucket)
	}
	b[key] = append([]byte{}, value...)
	return nil
}

func (t memoryTx) Delete(bucket, key string) error {
	b, err := t.bucket(bucket, true)
	if err == nil {
		delete(b, key)
	}
	return err
}

func (t memoryTx) List(bucket string, each func(string, []byte) error) error {
	b, err := t.bucket(bucket, false)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if err := each(key, bytes.Clone(b[key])); err != nil {
			return err
		}
	}
	return nil
}

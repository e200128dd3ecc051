package main

import (
	"errors"
	"net"
	"sync"
	"syscall"
)

const maxBacklog = 64 << 20

type writer struct {
	raw  syscall.RawConn
	wg   sync.WaitGroup
	busy bool // the goroutine is at work
	err  error
	buf  []byte // for try
	n    int
	try  func(fd uintptr) bool
}

func (w *writer) init(c net.Conn) error {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return errors.New("not a socket")
	}
	raw, err := sc.SyscallConn()
	w.raw = raw
	w.try = func(fd uintptr) bool {
		w.n, _ = syscall.Write(int(fd), w.buf) // an error comes again from Write
		return true
	}
	return err
}

func (s *sw) flush() error {
	w := &s.wr
	if w.err != nil || len(s.out) == 0 {
		return w.err
	}
	if w.busy {
		if len(s.out) > maxBacklog {
			return errors.New("the controller does not read")
		}
		return nil
	}
	w.buf, w.n = s.out, 0
	if err := w.raw.Write(w.try); err != nil {
		return err
	}
	if w.n == len(s.out) {
		s.out = s.out[:0]
		return nil
	}
	rest := append([]byte(nil), s.out[max(w.n, 0):]...)
	s.out = s.out[:0]
	w.busy = true
	w.wg.Go(func() {
		for {
			_, err := s.conn.Write(rest)
			s.mu.Lock()
			if err != nil || len(s.out) == 0 {
				w.busy, w.err = false, err
				s.mu.Unlock()
				return
			}
			rest, s.out = s.out, rest[:0]
			s.mu.Unlock()
		}
	})
	return nil
}

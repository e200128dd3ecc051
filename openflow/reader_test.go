package openflow

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// stream is messages of many sizes, the largest possible among them.
func stream() (whole []byte, messages [][]byte) {
	for i, n := range []int{0, 1, 60, 4000, 16 << 10, 65527, 5, 30000, 65527, 0} {
		m := AppendEchoRequest(nil, V15, uint32(i), bytes.Repeat([]byte{byte(i)}, n))
		messages = append(messages, m)
		whole = append(whole, m...)
	}
	return whole, messages
}

func TestReader(t *testing.T) {
	whole, messages := stream()
	sources := map[string]io.Reader{
		"at once":          bytes.NewReader(whole),
		"byte by byte":     iotest.OneByteReader(bytes.NewReader(whole)),
		"halves":           iotest.HalfReader(bytes.NewReader(whole)),
		"data with error":  iotest.DataErrReader(bytes.NewReader(whole)),
		"sometimes 0, nil": &lazy{r: bytes.NewReader(whole)},
	}
	for name, src := range sources {
		r := NewReader(src)
		for i, want := range messages {
			got, err := r.Next()
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s, message %d: %d bytes, %v; want %d", name, i, len(got), err, len(want))
			}
			if cap(got) != len(got) {
				t.Fatalf("%s: appending to a message would overwrite the next", name)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("%s: at the end: %v", name, err)
		}
	}
}

// lazy returns nothing and no error every other time.
type lazy struct {
	r io.Reader
	n int
}

func (l *lazy) Read(b []byte) (int, error) {
	if l.n++; l.n%2 == 0 {
		return 0, nil
	}
	return l.r.Read(b[:min(len(b), 1000)])
}

// TestReaderBadLength: a length that cannot advance is an error at once and for ever, never a stall.
func TestReaderBadLength(t *testing.T) {
	for _, n := range []byte{0, 3, 4, 6, 7} {
		src := append(AppendBarrier(nil, V15, 1), 6, 0, 0, n, 0, 0, 0, 0)
		r := NewReader(bytes.NewReader(append(src, AppendBarrier(nil, V15, 2)...)))
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_, err := r.Next()
			var format *FormatError
			if !errors.As(err, &format) {
				t.Errorf("length %d: %v", n, err)
			}
		}
	}
}

func TestReaderEnds(t *testing.T) {
	msg := AppendEchoRequest(nil, V15, 1, []byte("payload"))
	for cut := 1; cut < len(msg); cut++ {
		if _, err := NewReader(bytes.NewReader(msg[:cut])).Next(); err != io.ErrUnexpectedEOF {
			t.Errorf("cut after %d bytes: %v", cut, err)
		}
	}
	if _, err := NewReader(silent{}).Next(); err != io.ErrNoProgress {
		t.Errorf("a source that never gives: %v", err)
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

// TestReaderAgain: after a timeout amid a message nothing is lost.
func TestReaderAgain(t *testing.T) {
	msg := AppendEchoRequest(nil, V15, 1, []byte("payload"))
	r := NewReader(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(msg))))
	if _, err := r.Next(); err != iotest.ErrTimeout {
		t.Fatalf("want a timeout, have %v", err)
	}
	if got, err := r.Next(); err != nil || !bytes.Equal(got, msg) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReaderBuffered(t *testing.T) {
	one := AppendBarrier(nil, V15, 1)
	r := NewReader(bytes.NewReader(append(append(bytes.Clone(one), one...), one[:7]...)))
	if r.Buffered() {
		t.Error("a message before the first read")
	}
	for i, want := range []bool{true, false} {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if r.Buffered() != want {
			t.Errorf("after message %d: %v, want %v", i, !want, want)
		}
	}
}

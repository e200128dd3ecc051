package openflow

import "io"

const (
	firstBuffer = 16 << 10
	shrinkAfter = 32 // messages that firstBuffer had room for
)

// Reader cuts a byte stream into messages. It is for one goroutine.
type Reader struct {
	src      io.Reader
	buf      []byte
	from, to int // unread bytes are buf[from:to]
	small    int // messages since the last that firstBuffer has no room for
}

// NewReader reads messages from r, ahead of need, through a buffer that grows up to one message of the largest size and
// shrinks again.
func NewReader(r io.Reader) *Reader {
	return &Reader{src: r, buf: make([]byte, firstBuffer)}
}

// Next returns the next whole message, valid until the call after. At the end of the stream the error is io.EOF, or
// io.ErrUnexpectedEOF amid a message. After a length below 8 the stream cannot be understood: that *FormatError is
// returned for ever. An error of the source (a timeout, say) loses nothing: Next may be called again.
func (r *Reader) Next() ([]byte, error) {
	want := headerLen
	for idle := 0; ; {
		n := r.to - r.from
		if n >= headerLen {
			h, err := ParseHeader(r.buf[r.from:r.to])
			if err != nil {
				return nil, err // and again: those bytes stay
			}
			want = int(h.Length)
			if n >= want {
				msg := r.buf[r.from : r.from+want : r.from+want]
				r.from += want
				if r.small++; want > firstBuffer {
					r.small = 0
				}
				return msg, nil
			}
		}
		r.room(want)
		got, err := r.src.Read(r.buf[r.to:])
		r.to += got
		if got > 0 {
			idle = 0
			continue // a lasting error comes again
		}
		if err == io.EOF && n > 0 {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		if idle++; idle > 100 {
			return nil, io.ErrNoProgress
		}
	}
}

// Buffered reports whether Next will return without reading from the source: a whole message, or a header with an
// impossible length, is there already.
// It tells a writer that replies may still be gathered before they are flushed.
func (r *Reader) Buffered() bool {
	n := r.to - r.from
	return n >= headerLen && n >= int(be.Uint16(r.buf[r.from+2:]))
}

// room makes place for a message of n bytes, of which some are missing.
func (r *Reader) room(n int) {
	unread := r.to - r.from
	shrinks := len(r.buf) > firstBuffer && r.small >= shrinkAfter && n <= firstBuffer && unread <= firstBuffer
	if r.from+n <= len(r.buf) && !shrinks {
		return
	}
	buf := r.buf
	switch {
	case shrinks:
		buf = make([]byte, firstBuffer)
	case n > len(buf):
		buf = make([]byte, max(2*len(buf), n))
	}
	r.to = copy(buf, r.buf[r.from:r.to])
	r.from, r.buf = 0, buf
}

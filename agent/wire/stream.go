package wire

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
)

// MaxLine is the length of a line, in bytes and with its end; MaxStates how many states a writer puts into one, which is less.
const (
	MaxLine   = 256 << 10
	MaxStates = 1000
)

// Reasons of errors that a [Reader] finds.
const (
	BadGzip = "gzip"
	BadLine = "line"
	BadJSON = "json"
)

// Reader reads lines. Whatever it is sent, it holds no more than one of them.
type Reader struct {
	raw   io.Reader
	lines *bufio.Reader // nil before the first
}

// NewReader reads what a [Writer] writes.
func NewReader(r io.Reader) *Reader { return &Reader{raw: r} }

// Next reads a line into v. What is no line of JSON is an [*Error]; a stream that ends between two lines is io.EOF, and one
// that is cut off io.ErrUnexpectedEOF or what reading says.
func (r *Reader) Next(v any) error {
	if r.lines == nil {
		unzipped, err := gzip.NewReader(r.raw)
		if err != nil {
			return unzipError(err)
		}
		r.lines = bufio.NewReaderSize(unzipped, MaxLine)
	}
	line, err := r.lines.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return errorf(BadLine, "a line has more than %d bytes", MaxLine)
	case errors.Is(err, io.EOF) && len(line) > 0:
		return io.ErrUnexpectedEOF
	case err != nil:
		return unzipError(err)
	}
	if err := json.Unmarshal(line, v); err != nil {
		return errorf(BadJSON, "%v", err)
	}
	return nil
}

func unzipError(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) {
		return errorf(BadGzip, "%v", err)
	}
	return err
}

// Writer writes lines, each of which is on its way when Write returns.
type Writer struct {
	zip   *gzip.Writer
	flush func() error
}

// NewWriter writes to w; flush, if any, sends what w holds back.
func NewWriter(w io.Writer, flush func() error) *Writer { return &Writer{gzip.NewWriter(w), flush} }

// Write writes v as a line. It waits while the other side does not read.
func (w *Writer) Write(v any) error {
	if err := json.NewEncoder(w.zip).Encode(v); err != nil {
		return err
	}
	if err := w.zip.Flush(); err != nil || w.flush == nil {
		return err
	}
	return w.flush()
}

// Close ends the stream, not what it was written to.
func (w *Writer) Close() error { return w.zip.Close() }

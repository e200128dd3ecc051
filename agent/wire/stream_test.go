package wire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is written is read line by line, each before the next is written.
func TestLinesArriveOneByOne(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	lines := []FromAgent{
		{Hello: &Hello{Run: "a", First: 1}},
		{Dump: &Dump{ID: 1, States: []State{{UDP, netip.MustParseAddrPort("[fd00::9]:1"), netip.MustParseAddrPort("[fd00::1]:53")}}}},
		{Change: &Change{Seq: 1, After: 7, Complete: []string{TCP}}},
	}
	read, done := make(chan FromAgent), make(chan error, 1)
	go func() {
		in := NewReader(r)
		for {
			var got FromAgent
			if err := in.Next(&got); err != nil {
				done <- err
				return
			}
			read <- got
		}
	}()
	out := NewWriter(w, nil)
	for _, want := range lines {
		if err := out.Write(want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, <-read, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
	if err := errors.Join(out.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// The longest line that a writer makes fits.
func TestLongestLineFits(t *testing.T) {
	long := netip.MustParseAddrPort("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535")
	var c Change
	for range MaxStates {
		c.Opened = append(c.Opened, State{TCP, long, long})
	}
	var b bytes.Buffer
	w := NewWriter(&b, nil)
	if err := errors.Join(w.Write(FromAgent{Change: &c}), w.Close()); err != nil {
		t.Fatal(err)
	}
	var got FromAgent
	if err := NewReader(&b).Next(&got); err != nil || len(got.Change.Opened) != MaxStates {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNoLine(t *testing.T) {
	damaged := zipped(t, `{"hello": {}}`+"\n")
	damaged[len(damaged)-5] ^= 1 // of the checksum
	whole := zipped(t, `{"hello": {"run": "a run that has some length"}}`+"\n")
	for _, c := range []struct {
		name, want string
		raw        []byte
	}{
		{"no gzip", BadGzip, []byte(`{"hello": {}}` + "\n       ")},
		{"a damaged one", BadGzip, damaged},
		{"not JSON", BadJSON, zipped(t, "hello\n")},
		{"two values in a line", BadJSON, zipped(t, "{} {}\n")},
		{"no address", BadJSON, zipped(t, `{"change": {"opened": [{"client": "x"}]}}`+"\n")},
		{"half a line", io.ErrUnexpectedEOF.Error(), zipped(t, `{"hello"`)},
		{"half a stream", io.ErrUnexpectedEOF.Error(), whole[:len(whole)/2]},
		{"no stream", io.EOF.Error(), nil},
		{"a line without an end", BadLine, zipped(t, strings.Repeat(" ", MaxLine+1))},
	} {
		in := NewReader(bytes.NewReader(c.raw))
		var v FromAgent
		err := in.Next(&v)
		for err == nil {
			err = in.Next(&v)
		}
		var e *Error
		if got := err.Error(); errors.As(err, &e) && e.Reason != c.want || e == nil && got != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(zipped(f, `{"change": {"seq": 1, "opened": [{"protocol": "tcp", "client": "10.0.0.9:1", "local": "10.0.0.1:80"}]}}`+"\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, in := range []*Reader{NewReader(bytes.NewReader(raw)), NewReader(bytes.NewReader(zipped(t, string(raw))))} {
			for {
				var v FromAgent
				if err := in.Next(&v); err != nil {
					break
				}
			}
		}
	})
}

package lab

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// Frames come as they were sent, VLAN tags included, which the kernel takes out.
func TestFramesKeepTheirTags(t *testing.T) {
	l := New(t)
	a, b := l.Host("a", "10.0.0.1/24"), l.Host("b", "10.0.0.2/24")
	l.Link(a, 0, b, 0)
	out, in := a.Frames(), b.Frames()
	addresses := []byte{2, 0, 10, 0, 0, 2, 2, 0, 10, 0, 0, 1}
	for _, rest := range [][]byte{
		{0x12, 0x34},
		{0x81, 0, 0xe0, 7, 0x12, 0x34},
		{0x88, 0xa8, 0x20, 7, 0x81, 0, 0, 9, 0x12, 0x34},
	} {
		frame := append(append(append([]byte(nil), addresses...), rest...), make([]byte, 46)...)
		l.Eventually(20*time.Second, func() error { // a link that has just come up loses some
			if err := out.Send(frame); err != nil {
				return err
			}
			if _, err := in.Receive(within(t, 100*time.Millisecond), func(f []byte) bool { return bytes.Equal(f, frame) }); err != nil {
				return fmt.Errorf("%x: %w", rest, err)
			}
			return nil
		})
	}
}

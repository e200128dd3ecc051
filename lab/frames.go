package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Frames sends and receives whole Ethernet frames at a host's eth0, beside
// the host's kernel, which sees what comes in too.
type Frames struct {
	file *os.File
	name string
}

// Frames opens the host's interface until the test ends. What the host itself
// sends is not received.
func (h *Host) Frames() *Frames {
	h.lab.t.Helper()
	var f *Frames
	err := h.Do(func() (err error) {
		f, err = openFrames(h.name)
		return err
	})
	if err != nil {
		h.lab.t.Fatalf("lab: host %s: %v", h.name, err)
	}
	h.lab.t.Cleanup(func() { _ = f.file.Close() })
	return f
}

func openFrames(name string) (*Frames, error) {
	eth0, err := net.InterfaceByName("eth0")
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	f := &Frames{file: os.NewFile(uintptr(fd), "frames of "+name), name: name}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	all := uint16(unix.ETH_P_ALL>>8 | unix.ETH_P_ALL<<8&0xff00) // in network order
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: eth0.Index}); err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	return f, nil
}

// Send sends one frame, from the destination address on, without checksum.
func (f *Frames) Send(frame []byte) error {
	_, err := f.file.Write(frame)
	return err
}

// Receive returns the first frame that wanted accepts, or an error when ctx
// ends before. It is not for two goroutines at a time.
func (f *Frames) Receive(ctx context.Context, wanted func(frame []byte) bool) ([]byte, error) {
	if err := f.file.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = f.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	seen := 0
	buf := make([]byte, 1<<16)
	for {
		n, err := f.file.Read(buf)
		if err != nil && ctx.Err() != nil {
			return nil, fmt.Errorf("%s: none of %d frames was the one: %w", f.name, seen, ctx.Err())
		}
		if err != nil {
			return nil, err
		}
		seen++
		if wanted(buf[:n]) {
			return buf[:n], nil
		}
	}
}

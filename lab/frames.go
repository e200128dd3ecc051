package lab

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
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
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
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
		n, err := f.read(buf)
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

// read is one frame. The kernel takes a VLAN tag out of it, which is put back.
func (f *Frames) read(buf []byte) (n int, err error) {
	raw, err := f.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	oob := make([]byte, 64)
	var oobn int
	wait := raw.Read(func(fd uintptr) bool {
		n, oobn, _, _, err = unix.Recvmsg(int(fd), buf[:len(buf)-vlanTag], oob, 0)
		return !errors.Is(err, unix.EAGAIN)
	})
	if wait != nil || err != nil {
		return 0, cmp.Or(wait, err)
	}
	tpid, tci, tagged, err := tagOf(oob[:oobn])
	if err != nil || !tagged || n < addresses {
		return n, err
	}
	copy(buf[addresses+vlanTag:], buf[addresses:n])
	binary.BigEndian.PutUint16(buf[addresses:], tpid)
	binary.BigEndian.PutUint16(buf[addresses+2:], tci)
	return n + vlanTag, nil
}

const (
	addresses = 12 // bytes
	vlanTag   = 4
)

// tagOf is the tag that the kernel tells of beside a frame (packet(7), PACKET_AUXDATA).
func tagOf(oob []byte) (tpid, tci uint16, tagged bool, err error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return 0, 0, false, err
	}
	for _, m := range messages {
		if m.Header.Level != unix.SOL_PACKET || m.Header.Type != unix.PACKET_AUXDATA || len(m.Data) < 20 {
			continue
		}
		// struct tpacket_auxdata: status, lengths and offsets, then the tag, all in the machine's byte order.
		const tagValid, tpidValid = 1 << 4, 1 << 6
		status := binary.NativeEndian.Uint32(m.Data)
		tci, tpid = binary.NativeEndian.Uint16(m.Data[16:]), binary.NativeEndian.Uint16(m.Data[18:])
		if status&tpidValid == 0 {
			tpid = unix.ETH_P_8021Q
		}
		return tpid, tci, status&tagValid != 0, nil
	}
	return 0, 0, false, nil
}

package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const netnsDir = "/run/netns"

// namespace is the name of a network namespace, as ip-netns(8) keeps them.
type namespace string

func (n namespace) create() error {
	if _, err := run(exec.Command("ip", "netns", "add", string(n))); err != nil {
		return err
	}
	_, err := run(n.command("ip", "link", "set", "lo", "up"))
	return err
}

// remove kills what runs in the namespace and deletes it, with its interfaces;
// a namespace that is not there is fine.
func (n namespace) remove() error {
	if _, err := os.Stat(filepath.Join(netnsDir, string(n))); os.IsNotExist(err) {
		return nil
	}
	out, err := run(exec.Command("ip", "netns", "pids", string(n)))
	if err != nil {
		return err
	}
	for _, f := range strings.Fields(out) {
		if pid, err := strconv.Atoi(f); err == nil && pid > 1 && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_, err = run(exec.Command("ip", "netns", "del", string(n)))
	return err
}

// command is a program to be run in the namespace. ip(8) replaces itself by
// the program, so the command's process is the program's.
func (n namespace) command(argv ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", string(n)}, argv...)...)
}

// do calls fn on a thread that is in the namespace; sockets that it opens stay
// in there, whichever thread uses them later.
func (n namespace) do(fn func() error) error {
	done := make(chan error, 1)
	go func() { done <- n.enter(fn) }()
	return <-done
}

func (n namespace) enter(fn func() error) error {
	// A thread that cannot return home stays locked; the runtime then ends it
	// with its goroutine.
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer home.Close()
	there, err := os.Open(filepath.Join(netnsDir, string(n)))
	if err != nil {
		return err
	}
	defer there.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter namespace %s: %w", n, err)
	}
	err = fn()
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		return fmt.Errorf("leave namespace %s: %w", n, back)
	}
	runtime.UnlockOSThread()
	return err
}

// silenceIPv6 keeps the kernel from sending router solicitations and
// multicast reports of its own, which tests would count as traffic.
func (n namespace) silenceIPv6() error {
	return n.do(func() error {
		for _, which := range []string{"all", "default"} {
			file := filepath.Join("/proc/sys/net/ipv6/conf", which, "disable_ipv6")
			if err := os.WriteFile(file, []byte("1"), 0o644); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
		return nil
	})
}

// keepAddresses has an interface keep its IPv6 addresses while it is down, as it does those of IPv4.
func (n namespace) keepAddresses(ifname string) error {
	return n.do(func() error {
		return os.WriteFile(filepath.Join("/proc/sys/net/ipv6/conf", ifname, "keep_addr_on_down"), []byte("1"), 0o644)
	})
}

// up turns all offloads of an interface off, then the interface on. With
// checksum or segmentation offload TCP through the userspace datapath stalls.
func (n namespace) up(ifname string) error {
	if _, err := run(n.command("ethtool", "-K", ifname, "tx", "off", "rx", "off", "tso", "off", "gso", "off", "gro", "off")); err != nil {
		return err
	}
	_, err := run(n.command("ip", "link", "set", ifname, "up"))
	return err
}

package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Names of namespaces and run directories begin with efl-PID-START-, the
// process that made them; START, its start time in clock ticks since boot,
// tells it from a later one with the same number.
var ownedName = regexp.MustCompile(`^efl-(\d+)-(\d+)-`)

func ownPrefix() string {
	return fmt.Sprintf("efl-%d-%s-", os.Getpid(), startTime("self"))
}

// startTime is field 22 of /proc/PID/stat, empty when there is no such process.
func startTime(pid string) string {
	b, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return ""
	}
	// the second field is the program's name in parentheses and may hold anything
	text := string(b)
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const state, start = 3, 22
	if len(f) <= start-state {
		return ""
	}
	return f[start-state]
}

func stale(name string) bool {
	m := ownedName.FindStringSubmatch(name)
	return m != nil && startTime(m[1]) != m[2]
}

// sweep removes what dead processes left. Two sweeps may meet; the second then
// finds things gone, which is what it wanted.
func sweep(logf func(string, ...any)) {
	spaces, _ := filepath.Glob(filepath.Join(netnsDir, "efl-*"))
	for _, p := range spaces {
		if n := filepath.Base(p); stale(n) {
			logf("lab: removing namespace %s, left by a dead process: %v", n, orDone(namespace(n).remove()))
		}
	}
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "efl-*"))
	for _, p := range dirs {
		if stale(filepath.Base(p)) {
			logf("lab: removing directory %s, left by a dead process: %v", p, orDone(os.RemoveAll(p)))
		}
	}
}

func orDone(err error) any {
	if err == nil {
		return "done"
	}
	return err
}

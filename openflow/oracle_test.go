package openflow

import (
	"encoding/hex"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ofctlPrint is what Open vSwitch's decoder says of a message. It needs no daemon.
func ofctlPrint(t *testing.T, msg []byte) string {
	t.Helper()
	out, err := exec.Command("ovs-ofctl", "ofp-print", hex.EncodeToString(msg)).CombinedOutput()
	if err != nil {
		t.Fatalf("ovs-ofctl ofp-print (run scripts/install-deps if it is missing): %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestOpenVSwitchReadsUs lets a decoder that is not ours read every message we write.
func TestOpenVSwitchReadsUs(t *testing.T) {
	for _, v := range versions {
		for _, s := range samples(t, v) {
			t.Run(v.String()+"/"+s.name, func(t *testing.T) {
				want := strings.ReplaceAll(s.text, "@", "OF"+v.String())
				if diff := cmp.Diff(want, ofctlPrint(t, s.msg)); diff != "" {
					t.Errorf("ovs-ofctl reads it differently (-want +got):\n%s", diff)
				}
			})
		}
	}
}

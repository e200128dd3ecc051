package openflow

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestErrorNames(t *testing.T) {
	tests := []struct {
		e    Error
		want string
	}{
		{Error{Type: ErrBadMatch, Code: 6}, "OFPBMC_BAD_FIELD (4/6)"},
		{Error{Type: ErrGroupModFailed, Code: 16}, "OFPGMFC_BUCKET_EXISTS (6/16)"},
		{Error{Type: ErrBundleFailed, Code: 13}, "OFPBFC_MSG_FAILED (17/13)"},
		{Error{Type: ErrBadAction, Code: 3}, "OFPBAC_BAD_EXP_TYPE (2/3)"},
		{Error{Type: ErrBadRequest, Code: 2}, "OFPBRC_BAD_MULTIPART (1/2)"},
		{Error{Type: ErrBadRequest, Code: 512}, "UNKNOWN (1/512)"},
		{Error{Type: 18}, "UNKNOWN (18/0)"},
		{Error{Type: ErrExperimenter, Code: 42, Experimenter: nicira}, "NXBAC_CT_DATAPATH_SUPPORT (experimenter 0x2320/42)"},
		{Error{Type: ErrExperimenter, Code: 42, Experimenter: 7}, "UNKNOWN (experimenter 0x7/42)"},
		{Error{Type: ErrHelloFailed, Data: []byte("no\n")}, `OFPHFC_INCOMPATIBLE (0/0): "no\n"`},
	}
	for _, tt := range tests {
		if got := tt.e.Error(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestErrorMessage(t *testing.T) {
	for _, want := range []*Error{
		{XID: 5, Type: ErrFlowModFailed, Code: 1, Data: []byte("offending")},
		{XID: 5, Type: ErrExperimenter, Code: 1, Experimenter: nicira, Data: []byte("offending")},
	} {
		msg := AppendError(nil, V15, want)
		got, err := ParseError(msg)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v, (-want +got):\n%s", err, diff)
		}
		clear(msg)
		if string(got.Data) != "offending" {
			t.Error("Data aliases the message")
		}
		if !errors.Is(got, &Error{Type: want.Type, Code: want.Code, Experimenter: want.Experimenter}) || errors.Is(got, &Error{}) {
			t.Error("errors.Is is wrong")
		}
	}
	big := AppendError(nil, V13, &Error{Data: make([]byte, 70000)})
	if h, err := ParseHeader(big); err != nil || int(h.Length) != len(big) || len(big) != maxMessage {
		t.Errorf("a long error is %d bytes, header %+v, %v", len(big), h, err)
	}
}

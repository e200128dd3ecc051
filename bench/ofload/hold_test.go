package main

import (
	"bytes"
	"testing"
)

// flowModBytes is a FLOW_MOD with one match field and one instruction.
func flowModBytes(ver, table, command byte, cookie uint64, prio uint16, inPort uint32) []byte {
	m := make([]byte, flowModLen, 128)
	m[0], m[1] = ver, tFlowMod
	be.PutUint64(m[8:], cookie)
	m[24], m[25] = table, command
	be.PutUint16(m[26:], 7) // idle
	be.PutUint16(m[28:], 9) // hard
	be.PutUint16(m[30:], prio)
	be.PutUint16(m[44:], 5) // flags
	m = append(m, 0, 1, 0, 12, 0x80, 0, oxmInPort<<1, 4)
	m = append(be.AppendUint32(m, inPort), 0, 0, 0, 0)
	m = append(m, 0, 1, 0, 8, 3, 0, 0, 0) // goto_table 3
	be.PutUint16(m[2:], uint16(len(m)))
	return m
}

func flowRequest(table byte, cookie, mask uint64) []byte {
	b := make([]byte, 40)
	b[0] = table
	be.PutUint64(b[16:], cookie)
	be.PutUint64(b[24:], mask)
	return b
}

func TestHeldRules(t *testing.T) {
	for _, ver := range []byte{ver13, ver15} {
		h := newHeld()
		h.note(flowModBytes(ver, 1, flowAdd, 0xa1, 100, 1))
		h.note(flowModBytes(ver, 1, flowAdd, 0xa2, 100, 1)) // in its place
		h.note(flowModBytes(ver, 2, flowAdd, 0xb1, 100, 1))
		h.note(flowModBytes(ver, 2, flowAdd, 0xb2, 100, 2))
		h.note(flowModBytes(ver, 2, flowDeleteStrict, 0, 100, 2))
		all, ok := h.list(mpFlow, flowRequest(anyTable, 0, 0))
		if len(all) != 2 || !ok {
			t.Fatalf("version %d: %x", ver, all)
		}
		some, _ := h.list(mpFlow, flowRequest(anyTable, 0xa0, 0xf0))
		want := []byte{0, 80, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 0, 7, 0, 9, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa2,
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		if ver == ver15 {
			want = []byte{0, 56, 0, 0, 1, 0, 0, 100, 0, 7, 0, 9, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa2}
		}
		want = append(want, 0, 1, 0, 12, 0x80, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0)
		if ver == ver15 {
			want = append(want, 0, 0, 0, 4, 0, 0, 0, 0)
		}
		want = append(want, 0, 1, 0, 8, 3, 0, 0, 0)
		if ver == ver13 {
			want[1] = byte(len(want))
		}
		if len(some) != 1 || !bytes.Equal(some[0], want) {
			t.Errorf("version %d: got %x, want %x", ver, some, want)
		}
		h.note(flowModBytes(ver, anyTable, flowDelete, 0, 0, 0))
		if left, _ := h.list(mpFlow, flowRequest(anyTable, 0, 0)); len(left) != 0 {
			t.Errorf("version %d: a deletion of all leaves %x", ver, left)
		}
	}
}

func TestHeldGroupsAndMeters(t *testing.T) {
	h := newHeld()
	group := []byte{ver15, tGroupMod, 0, 32, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 7, 0, 8, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8}
	h.note(group)
	got, _ := h.list(mpGroupDesc, nil)
	want := []byte{0, 24, 1, 0, 0, 0, 0, 7, 0, 8, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}
	if len(got) != 1 || !bytes.Equal(got[0], want) {
		t.Errorf("got %x, want %x", got, want)
	}
	group[9] = objectDelete
	h.note(group)
	if got, _ := h.list(mpGroupDesc, nil); len(got) != 0 {
		t.Errorf("after the deletion %x", got)
	}
	h.note([]byte{ver13, tMeterMod, 0, 16, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 9})
	if got, _ := h.list(mpMeterConfig, nil); len(got) != 1 || !bytes.Equal(got[0], []byte{0, 8, 0, 6, 0, 0, 0, 9}) {
		t.Errorf("meters %x", got)
	}
	if _, ok := h.list(mpPortDesc, nil); ok {
		t.Error("ports are listed")
	}
}

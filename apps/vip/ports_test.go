package vip

import "testing"

func TestMasksCoverEachPortOnce(t *testing.T) {
	for _, ends := range [][2]uint16{{80, 80}, {1, 65535}, {1, 65534}, {32768, 65535}, {1000, 1999}, {65535, 65535}, {8000, 8010}} {
		r := Ports{First: ends[0], Last: ends[1]}
		list := r.Masks()
		if len(list) > 30 {
			t.Errorf("%v: %d masks", r, len(list))
		}
		for port := 0; port < 65536; port++ {
			hits, want := 0, 0
			for _, p := range list {
				if uint16(port)&p.Mask == p.Port {
					hits++
				}
			}
			if int(r.First) <= port && port <= int(r.Last) {
				want = 1
			}
			if hits != want {
				t.Fatalf("%v: %d masks hold port %d", r, hits, port)
			}
		}
	}
}

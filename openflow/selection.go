package openflow

import (
	"slices"

	"github.com/evenflow/evenflow/flows"
)

// Netronome's group property for the selection method of a select group, as in Open vSwitch's netronome-ext.h.
const (
	ntrSelectionMethod = 1
	netronomeOld       = 0x00001540 // an id that some switches use for the same
	selectionNameLen   = 16         // with at least one zero at the end
	selectionLen       = 40         // without fields
)

// appendSelection appends the property, checked by checkGroup. Each field's value is the mask that is hashed: all of it.
func appendSelection(b []byte, v Version, g *flows.Group) []byte {
	start := len(b)
	b = append(b, 0xff, 0xff, 0, 0)
	b = be.AppendUint32(b, netronome)
	b = be.AppendUint32(b, ntrSelectionMethod)
	b = append(b, 0, 0, 0, 0)
	name := len(b)
	b = append(b, zeros[:selectionNameLen]...)
	copy(b[name:], g.Method)
	b = be.AppendUint64(b, g.Param)
	ones := value128(^uint64(0), ^uint64(0), 16)
	for _, f := range g.Fields {
		b = appendOXM(b, header(v, f), false, &ones, nil)
	}
	be.PutUint16(b[start+2:], uint16(len(b)-start))
	return pad8(b, start)
}

// parseSelection reads an experimenter property into g if it is this one.
func parseSelection(prop []byte, g *flows.Group) error {
	if len(prop) < 12 {
		return short("experimenter property", len(prop), 12)
	}
	who := be.Uint32(prop[4:])
	if who != netronome && who != netronomeOld || be.Uint32(prop[8:]) != ntrSelectionMethod {
		return nil
	}
	if len(prop) < selectionLen {
		return short("selection method property", len(prop), selectionLen)
	}
	g.Method = text(prop[16 : 16+selectionNameLen])
	g.Param = be.Uint64(prop[32:])
	for l := prop[selectionLen:]; len(l) > 0; {
		o, err := parseOXM(l)
		if err != nil {
			return err
		}
		o.mask = o.value
		if o.masked || o.field == flows.FieldNone || o.narrow || !o.full() {
			o.field = flows.FieldNone
		}
		g.Fields = append(g.Fields, o.field)
		l = l[o.size:]
	}
	slices.Sort(g.Fields)
	return nil
}

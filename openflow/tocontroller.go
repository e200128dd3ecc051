package openflow

import (
	"bytes"
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// Properties of controller2 (NXAC2PT_*).
const (
	controllerMaxLen   = 0
	controllerID       = 1
	controllerReason   = 2
	controllerUserdata = 3
	controllerPause    = 4
	controllerMeter    = 5
)

// appendToController appends the shortest form: output, controller, or controller2.
func appendToController(b []byte, a *flows.ToController) ([]byte, error) {
	start := len(b)
	if o, plain := a.Plain(); plain {
		return appendAction(b, V13, o, false) // alike in all versions
	}
	if len(a.Userdata) == 0 && !a.Pause && a.Meter == 0 {
		b = be.AppendUint16(appendNicira(b, 16, nxController), a.MaxLen)
		return append(be.AppendUint16(b, a.ID), a.Reason, 0), nil
	}
	if len(a.Userdata) > maxMessage {
		return b, &ValueError{What: fmt.Sprintf("controller: userdata of %d bytes", len(a.Userdata))}
	}
	b = append(appendNicira(b, 0, nxController2), 0, 0, 0, 0, 0, 0)
	if a.MaxLen != 0xffff {
		b = append(b, 0, controllerMaxLen, 0, 8, byte(a.MaxLen>>8), byte(a.MaxLen), 0, 0)
	}
	if a.ID != 0 {
		b = append(b, 0, controllerID, 0, 8, byte(a.ID>>8), byte(a.ID), 0, 0)
	}
	if a.Reason != flows.ReasonAction {
		b = append(b, 0, controllerReason, 0, 5, a.Reason, 0, 0, 0)
	}
	if n := len(a.Userdata); n > 0 {
		b = append(b, 0, controllerUserdata, byte((n+4)>>8), byte(n+4))
		b = pad8(append(b, a.Userdata...), start)
	}
	if a.Pause {
		b = append(b, 0, controllerPause, 0, 4, 0, 0, 0, 0)
	}
	if a.Meter != 0 {
		b = be.AppendUint32(append(b, 0, controllerMeter, 0, 8), a.Meter)
	}
	return endNicira(b, start)
}

// decodeToController reads a controller, of 16 bytes, or controller2.
func decodeToController(subtype uint16, b []byte) flows.Action {
	a := flows.ToController{MaxLen: 0xffff, Reason: flows.ReasonAction}
	if subtype == nxController {
		if len(b) != 16 {
			return nil
		}
		a.MaxLen, a.ID, a.Reason = be.Uint16(b[10:]), be.Uint16(b[12:]), b[14]
	} else {
		known := true
		err := eachProperty(b[16:], func(kind uint16, prop []byte) error {
			switch n := len(prop); {
			case kind == controllerMaxLen && n >= 6:
				a.MaxLen = be.Uint16(prop[4:])
			case kind == controllerID && n >= 6:
				a.ID = be.Uint16(prop[4:])
			case kind == controllerReason && n >= 5:
				a.Reason = prop[4]
			case kind == controllerUserdata:
				a.Userdata = bytes.Clone(prop[4:])
			case kind == controllerPause:
				a.Pause = true
			case kind == controllerMeter && n >= 8:
				a.Meter = be.Uint32(prop[4:])
			default:
				known = false
			}
			return nil
		})
		if err != nil || !known {
			return nil
		}
	}
	if len(a.Userdata) == 0 {
		a.Userdata = nil
	}
	if o, plain := a.Plain(); plain {
		return o
	}
	return a
}

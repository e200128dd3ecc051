package flows

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// ToController sends the packet to some of the controllers with more to say than [Output] can (Nicira controller).
type ToController struct {
	MaxLen   uint16 // bytes of the packet, 0xffff: all
	ID       uint16 // of the controllers, as each has set its own; 0 otherwise
	Reason   uint8  // of the packet-in: ReasonAction unless another is to be feigned
	Userdata []byte // handed on in Nicira packet-ins (NXT_PACKET_IN2) alone
	Pause    bool   // the packet waits for the controller to resume it
	Meter    uint32 // 0: none
}

// ReasonAction is the reason of a packet-in that an action asked for.
const ReasonAction uint8 = 1

// reasons are names of OFPR_* as Open vSwitch has them.
var reasons = [...]string{"no_match", "action", "invalid_ttl", "action_set", "group", "packet_out"}

// Plain is the Output that does the same, if there is one.
func (a ToController) Plain() (o Output, ok bool) {
	ok = a.ID == 0 && a.Reason == ReasonAction && len(a.Userdata) == 0 && !a.Pause && a.Meter == 0
	return Output{Port: PortController, MaxLen: a.MaxLen}, ok
}

func (a ToController) equal(other Action) bool {
	b, ok := other.(ToController)
	return ok && a.MaxLen == b.MaxLen && a.ID == b.ID && a.Reason == b.Reason && a.Pause == b.Pause && a.Meter == b.Meter &&
		bytes.Equal(a.Userdata, b.Userdata)
}

// AppendText is controller(reason=REASON,max_len=BYTES,id=ID,userdata=HEX.HEX,pause,meter_id=METER), without what is not
// set, or CONTROLLER:BYTES.
func (a ToController) AppendText(b []byte) []byte {
	if o, plain := a.Plain(); plain {
		return o.AppendText(b)
	}
	b = append(b, "controller("...)
	if a.Reason != ReasonAction {
		b = append(b, "reason="...)
		if int(a.Reason) < len(reasons) {
			b = append(b, reasons[a.Reason]...)
		} else {
			b = strconv.AppendUint(b, uint64(a.Reason), 10)
		}
		b = append(b, ',')
	}
	if a.MaxLen != 0xffff {
		b = append(appendNum(b, "max_len=", a.MaxLen), ',')
	}
	if a.ID != 0 {
		b = append(appendNum(b, "id=", a.ID), ',')
	}
	for i, c := range a.Userdata {
		if i == 0 {
			b = append(b, "userdata="...)
		}
		b = append(hex.AppendEncode(b, []byte{c}), '.')
	}
	if len(a.Userdata) > 0 {
		b[len(b)-1] = ','
	}
	if a.Pause {
		b = append(b, "pause,"...)
	}
	if a.Meter != 0 {
		b = append(appendNum(b, "meter_id=", a.Meter), ',')
	}
	b[len(b)-1] = ')'
	return b
}

func (s *scanner) controller(it item) (Action, error) {
	a := ToController{MaxLen: 0xffff, Reason: ReasonAction}
	whole := it
	if it.sep == '(' {
		if _, err := s.inner(it); err != nil {
			return nil, err
		}
		whole.value = strings.TrimSuffix(it.value, ")")
	}
	if n, err := parseUint(whole.value, 16); err == nil { // CONTROLLER:BYTES, controller(BYTES)
		a.MaxLen = uint16(n)
	} else if it.sep == '(' {
		if err := s.controllerArgs(it, &a); err != nil {
			return nil, err
		}
	} else if whole.value != "" {
		return nil, s.fail(it, "%w", err)
	}
	if o, plain := a.Plain(); plain {
		return o, nil
	}
	return a, nil
}

func (s *scanner) controllerArgs(it item, a *ToController) error {
	in, err := s.inner(it)
	if err != nil {
		return err
	}
	for p, ok := in.next(); ok; p, ok = in.next() {
		var err error
		switch p.key {
		case "max_len":
			err = parseInto(p.value, &a.MaxLen)
		case "id":
			err = parseInto(p.value, &a.ID)
		case "meter_id":
			err = parseInto(p.value, &a.Meter)
		case "pause":
			a.Pause = true
		case "userdata":
			a.Userdata, err = hex.DecodeString(strings.ReplaceAll(p.value, ".", ""))
		case "reason":
			if i := slices.Index(reasons[:], strings.ToLower(p.value)); i >= 0 {
				a.Reason = uint8(i)
			} else {
				err = parseInto(p.value, &a.Reason)
			}
		default:
			return s.fail(p, "want max_len=BYTES, id=ID, reason=REASON, userdata=HEX.HEX, pause or meter_id=METER")
		}
		if err != nil {
			return s.fail(p, "%w", err)
		}
	}
	return nil
}

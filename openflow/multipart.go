package openflow

import (
	"fmt"

	"github.com/evenflow/evenflow/flows"
)

// Kinds of multipart messages (OFPMP_*).
const (
	MultipartDesc          uint16 = 0
	MultipartFlow          uint16 = 1 // flow-stats in 1.3, flow-desc in 1.5
	MultipartAggregate     uint16 = 2
	MultipartPortStats     uint16 = 4
	MultipartGroupStats    uint16 = 6
	MultipartGroupDesc     uint16 = 7
	MultipartGroupFeatures uint16 = 8
	MultipartMeterStats    uint16 = 9
	MultipartMeterConfig   uint16 = 10
	MultipartMeterFeatures uint16 = 11
	MultipartPortDesc      uint16 = 13
)

// Multipart is one piece of a multipart reply. If More, further pieces with the same xid follow; each one's Body holds
// whole entries, so pieces may be parsed one by one. Body aliases the message.
type Multipart struct {
	Kind uint16
	More bool
	Body []byte
}

const multipartMore = 1

// ParseMultipart reads a multipart reply.
func ParseMultipart(msg []byte) (Multipart, error) {
	return parseMultipart(msg, TypeMultipartReply)
}

// ParseMultipartRequest reads a multipart request, as a switch does.
func ParseMultipartRequest(msg []byte) (Multipart, error) {
	return parseMultipart(msg, TypeMultipartRequest)
}

func parseMultipart(msg []byte, t Type) (Multipart, error) {
	p, err := payload(msg, t, 8)
	if err != nil {
		return Multipart{}, err
	}
	return Multipart{Kind: be.Uint16(p), More: be.Uint16(p[2:])&multipartMore != 0, Body: p[8:]}, nil
}

// AppendMultipartReply appends one piece of a reply, as a switch does.
func AppendMultipartReply(b []byte, v Version, xid uint32, kind uint16, more bool, body []byte) ([]byte, error) {
	start := len(b)
	b = beginMultipart(b, v, TypeMultipartReply, xid, kind)
	if more {
		b[start+headerLen+3] = multipartMore
	}
	return finish(append(b, body...), start)
}

func beginMultipart(b []byte, v Version, t Type, xid uint32, kind uint16) []byte {
	b = begin(b, v, t, xid)
	return append(b, byte(kind>>8), byte(kind), 0, 0, 0, 0, 0, 0)
}

// appendRequest appends a request with a body of an id and padding, or none.
func appendRequest(b []byte, v Version, xid uint32, kind uint16, body bool, id uint32) []byte {
	start := len(b)
	b = beginMultipart(b, v, TypeMultipartRequest, xid, kind)
	if body {
		b = be.AppendUint32(b, id)
		b = append(b, 0, 0, 0, 0)
	}
	return end(b, start)
}

// AppendDescRequest asks for Desc.
func AppendDescRequest(b []byte, v Version, xid uint32) []byte {
	return appendRequest(b, v, xid, MultipartDesc, false, 0)
}

// AppendPortDescRequest asks for all ports.
func AppendPortDescRequest(b []byte, v Version, xid uint32) []byte {
	return appendRequest(b, v, xid, MultipartPortDesc, v >= V15, flows.PortAny)
}

// AppendPortStatsRequest asks for a port's counters, or all ports' (flows.PortAny).
func AppendPortStatsRequest(b []byte, v Version, xid, port uint32) []byte {
	return appendRequest(b, v, xid, MultipartPortStats, true, port)
}

// AppendMeterConfigRequest asks for all meters.
func AppendMeterConfigRequest(b []byte, v Version, xid uint32) []byte {
	return appendRequest(b, v, xid, MultipartMeterConfig, true, AllMeters)
}

// AppendGroupDescRequest asks for all groups.
func AppendGroupDescRequest(b []byte, v Version, xid uint32) []byte {
	return appendRequest(b, v, xid, MultipartGroupDesc, v >= V15, AllGroups)
}

// AppendFlowStatsRequest asks for the rules that the filter selects, with their actions and counters.
func AppendFlowStatsRequest(b []byte, v Version, xid uint32, f FlowFilter) ([]byte, error) {
	return appendFlowRequest(b, v, xid, MultipartFlow, f)
}

func appendFlowRequest(b []byte, v Version, xid uint32, kind uint16, f FlowFilter) ([]byte, error) {
	start := len(b)
	b = beginMultipart(b, v, TypeMultipartRequest, xid, kind)
	b = append(b, f.Table, 0, 0, 0,
		0xff, 0xff, 0xff, 0xff, // any output port
		0xff, 0xff, 0xff, 0xff, // any group
		0, 0, 0, 0)
	b = be.AppendUint64(b, f.Cookie&f.CookieMask)
	b = be.AppendUint64(b, f.CookieMask)
	b, err := appendMatch(b, v, f.Match)
	if err != nil {
		return b[:start], fmt.Errorf("flow statistics request: %w", err)
	}
	return finish(b, start)
}

// ParseFlowStatsRequest reads the body of such a request, or of one for an aggregate, as a switch does.
func ParseFlowStatsRequest(body []byte) (FlowFilter, error) {
	if len(body) < 40 {
		return FlowFilter{}, short("flow statistics request", len(body), 40)
	}
	f := FlowFilter{Table: body[0], Cookie: be.Uint64(body[16:]), CookieMask: be.Uint64(body[24:])}
	list, _, err := parseMatch(body[32:])
	if err != nil {
		return f, err
	}
	f.Match, err = decodeMatch(list)
	return f, err
}

// Desc is what a switch says about itself, in free text.
type Desc struct{ Manufacturer, Hardware, Software, Serial, Datapath string }

const (
	descLen   = 256
	serialLen = 32
)

// ParseDesc reads the body of a desc reply.
func ParseDesc(body []byte) (Desc, error) {
	if want := 4*descLen + serialLen; len(body) < want {
		return Desc{}, short("description", len(body), want)
	}
	at := func(i int) string { return text(body[i*descLen:][:descLen]) }
	return Desc{
		Manufacturer: at(0), Hardware: at(1), Software: at(2), Serial: text(body[3*descLen:][:serialLen]),
		Datapath: text(body[3*descLen+serialLen:][:descLen]),
	}, nil
}

// AppendDesc appends the body of a desc reply, as a switch does. Texts are cut to their fields.
func AppendDesc(body []byte, d Desc) []byte {
	for i, s := range []string{d.Manufacturer, d.Hardware, d.Software, d.Serial, d.Datapath} {
		n := descLen
		if i == 3 {
			n = serialLen
		}
		field := make([]byte, n)
		copy(field[:n-1], s)
		body = append(body, field...)
	}
	return body
}

package openflow

// Aggregate are the counters of several rules together (section 7.3.5.4).
type Aggregate struct {
	Packets, Bytes uint64
	Rules          uint32
}

const aggregate13Len = 24

// AppendAggregateRequest asks for the Aggregate of the rules that the filter selects.
func AppendAggregateRequest(b []byte, v Version, xid uint32, f FlowFilter) ([]byte, error) {
	return appendFlowRequest(b, v, xid, MultipartAggregate, f)
}

// ParseAggregate reads the body of an aggregate reply.
func ParseAggregate(v Version, body []byte) (a Aggregate, err error) {
	if v >= V15 {
		_, err = eachStatistic(body, func(num uint8, value []byte) {
			switch {
			case num == oxsFlowCount && len(value) == 4:
				a.Rules = be.Uint32(value)
			case num == oxsPacketCount && len(value) == 8:
				a.Packets = be.Uint64(value)
			case num == oxsByteCount && len(value) == 8:
				a.Bytes = be.Uint64(value)
			}
		})
		return a, err
	}
	if len(body) < aggregate13Len {
		return a, short("aggregate", len(body), aggregate13Len)
	}
	return Aggregate{Packets: be.Uint64(body), Bytes: be.Uint64(body[8:]), Rules: be.Uint32(body[16:])}, nil
}

// AppendAggregate appends the body of an aggregate reply, as a switch does.
func AppendAggregate(body []byte, v Version, a Aggregate) []byte {
	if v < V15 {
		body = be.AppendUint64(be.AppendUint64(body, a.Packets), a.Bytes)
		return append(be.AppendUint32(body, a.Rules), 0, 0, 0, 0)
	}
	start := len(body)
	body = append(body, 0, 0, 0, 0)
	body = append(body, classStats>>8, classStats&0xff, oxsFlowCount<<1, 4)
	body = be.AppendUint32(body, a.Rules)
	body = appendOXS(appendOXS(body, oxsPacketCount, a.Packets), oxsByteCount, a.Bytes)
	be.PutUint16(body[start+2:], uint16(len(body)-start))
	return pad8(body, start)
}

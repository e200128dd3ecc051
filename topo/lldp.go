package topo

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"strconv"
	"time"

	"github.com/evenflow/evenflow/flows"
)

// Our LLDP frames (IEEE 802.1AB): chassis id (type 1) "dpid:" and 16 hex digits and port id (type 2) the decimal number,
// both locally assigned (subtype 7); a TTL; then one organisationally specific TLV (type 127) whose value is
//
//	OUI 3 | subtype 1 | datapath id 8 | port 4 | milliseconds since 1970 8 | HMAC-SHA256 of all these, its first 16 bytes
//
// The time makes a frame that somebody has kept worthless. The OUI is locally administered.
const (
	tlvEnd, tlvChassis, tlvPort, tlvTTL, tlvSpecific = 0, 1, 2, 3, 127

	locallyAssigned = 7
	ownSubtype      = 1
	macLen          = 16
	signedLen       = 3 + 1 + 8 + 4 + 8
)

var (
	nearestBridge = flows.MAC{0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e}
	ownOUI        = [3]byte{0x02, 0xef, 0x00}

	errForeign = errors.New("LLDP of another system")
	errForged  = errors.New("LLDP is not authentic")
)

// codec writes and reads our LLDP frames.
type codec struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

func newCodec(key []byte) *codec { return &codec{mac: hmac.New(sha256.New, key)} }

// sign is valid until the next call.
func (c *codec) sign(b []byte) []byte {
	c.mac.Reset()
	c.mac.Write(b)
	return c.mac.Sum(c.sum[:0])[:macLen]
}

func appendTLV(b []byte, kind, length int) []byte {
	return binary.BigEndian.AppendUint16(b, uint16(kind<<9|length))
}

// append appends the frame that a port sends.
func (c *codec) append(b []byte, id PortID, src flows.MAC, now time.Time) []byte {
	b = append(append(append(b, nearestBridge[:]...), src[:]...), 0x88, 0xcc)
	var room [2 * 8]byte // for numbers as text
	binary.BigEndian.PutUint64(room[8:], uint64(id.DPID))
	hex.Encode(room[:], room[8:])
	b = append(append(append(appendTLV(b, tlvChassis, 1+len("dpid:")+len(room)), locallyAssigned), "dpid:"...), room[:]...)
	no := strconv.AppendUint(room[:0], uint64(id.No), 10)
	b = append(append(appendTLV(b, tlvPort, 1+len(no)), locallyAssigned), no...)
	b = append(appendTLV(b, tlvTTL, 2), 0, 120)
	b = appendTLV(b, tlvSpecific, signedLen+macLen)
	at := len(b)
	b = append(append(b, ownOUI[:]...), ownSubtype)
	b = binary.BigEndian.AppendUint64(b, uint64(id.DPID))
	b = binary.BigEndian.AppendUint32(b, id.No)
	b = binary.BigEndian.AppendUint64(b, uint64(now.UnixMilli()))
	b = append(b, c.sign(b[at:])...)
	return appendTLV(b, tlvEnd, 0)
}

// parse tells which port sent a frame and when. The error is errForeign for what does not claim to be ours.
func (c *codec) parse(b []byte) (from PortID, sent time.Time, err error) {
	if len(b) < 14 || b[12] != 0x88 || b[13] != 0xcc {
		return from, sent, errForeign
	}
	for b = b[14:]; len(b) >= 2; {
		head := binary.BigEndian.Uint16(b)
		kind, length := int(head>>9), int(head&0x1ff)
		if kind == tlvEnd || len(b) < 2+length {
			break
		}
		v := b[2 : 2+length]
		b = b[2+length:]
		if kind != tlvSpecific || length < 4 || [3]byte(v) != ownOUI || v[3] != ownSubtype {
			continue
		}
		if length != signedLen+macLen || !hmac.Equal(v[signedLen:], c.sign(v[:signedLen])) {
			return from, sent, errForged
		}
		from = PortID{flows.DPID(binary.BigEndian.Uint64(v[4:])), binary.BigEndian.Uint32(v[12:])}
		return from, time.UnixMilli(int64(binary.BigEndian.Uint64(v[16:]))), nil
	}
	return from, sent, errForeign
}

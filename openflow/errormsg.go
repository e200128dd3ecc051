package openflow

import (
	"bytes"
	"fmt"
	"strings"
)

// Error is a switch's error message (section 7.5.4).
type Error struct {
	XID          uint32 // of the message that caused it
	Type, Code   uint16 // Code is the experimenter's type if Type is ErrExperimenter
	Experimenter uint32 // 0 unless Type is ErrExperimenter
	Data         []byte // the offending message, at least its first 64 bytes; text if Type is ErrHelloFailed
}

// Types of errors (OFPET_*).
const (
	ErrHelloFailed         uint16 = 0
	ErrBadRequest          uint16 = 1
	ErrBadAction           uint16 = 2
	ErrBadInstruction      uint16 = 3
	ErrBadMatch            uint16 = 4
	ErrFlowModFailed       uint16 = 5
	ErrGroupModFailed      uint16 = 6
	ErrPortModFailed       uint16 = 7
	ErrTableModFailed      uint16 = 8
	ErrQueueOpFailed       uint16 = 9
	ErrSwitchConfigFailed  uint16 = 10
	ErrRoleRequestFailed   uint16 = 11
	ErrMeterModFailed      uint16 = 12
	ErrTableFeaturesFailed uint16 = 13
	ErrBadProperty         uint16 = 14
	ErrAsyncConfigFailed   uint16 = 15
	ErrFlowMonitorFailed   uint16 = 16
	ErrBundleFailed        uint16 = 17
	ErrExperimenter        uint16 = 0xffff
)

// Codes that callers ask for. Each belongs to the type named in its comment.
const (
	CodeGroupExists   uint16 = 0  // ErrGroupModFailed
	CodeUnknownGroup  uint16 = 8  // ErrGroupModFailed
	CodeUnknownBucket uint16 = 15 // ErrGroupModFailed
	CodeBucketExists  uint16 = 16 // ErrGroupModFailed
	CodeMeterExists   uint16 = 1  // ErrMeterModFailed
	CodeUnknownMeter  uint16 = 3  // ErrMeterModFailed
	CodeIncompatible  uint16 = 0  // ErrHelloFailed
	CodeBadVersion    uint16 = 0  // ErrBadRequest
	CodeBadType       uint16 = 1  // ErrBadRequest
)

// Error is the specification's name with the numbers, like "OFPBMC_BAD_FIELD (4/6)".
func (e *Error) Error() string {
	if e.Type == ErrExperimenter {
		return fmt.Sprintf("%s (experimenter %#x/%d)", e.Name(), e.Experimenter, e.Code)
	}
	if e.Type == ErrHelloFailed && len(e.Data) > 0 {
		return fmt.Sprintf("%s (%d/%d): %q", e.Name(), e.Type, e.Code, e.Data)
	}
	return fmt.Sprintf("%s (%d/%d)", e.Name(), e.Type, e.Code)
}

// Name is the error's name in the specification, or in Open vSwitch for its own ones; "UNKNOWN" if it has none.
func (e *Error) Name() string {
	if e.Type == ErrExperimenter {
		if name, ok := niciraErrors[e.Code]; ok && e.Experimenter == nicira {
			return name
		}
		return "UNKNOWN"
	}
	if int(e.Type) < len(errorNames) {
		prefix, list, _ := strings.Cut(errorNames[e.Type], " ")
		if names := strings.Fields(list); int(e.Code) < len(names) {
			return prefix + "_" + names[e.Code]
		}
	}
	return "UNKNOWN"
}

// Is makes errors.Is compare type, code and experimenter.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Type == e.Type && t.Code == e.Code && t.Experimenter == e.Experimenter
}

// ParseError reads an error message. Data is a copy.
func ParseError(msg []byte) (*Error, error) {
	p, err := payload(msg, TypeError, 4)
	if err != nil {
		return nil, err
	}
	e := &Error{XID: be.Uint32(msg[4:]), Type: be.Uint16(p), Code: be.Uint16(p[2:])}
	p = p[4:]
	if e.Type == ErrExperimenter {
		if len(p) < 4 {
			return nil, short("experimenter error", len(p), 4)
		}
		e.Experimenter = be.Uint32(p)
		p = p[4:]
	}
	e.Data = bytes.Clone(p)
	return e, nil
}

// AppendError appends an error message. Of Data as much is sent as one message holds.
func AppendError(b []byte, v Version, e *Error) []byte {
	start := len(b)
	b = begin(b, v, TypeError, e.XID)
	b = be.AppendUint16(b, e.Type)
	b = be.AppendUint16(b, e.Code)
	if e.Type == ErrExperimenter {
		b = be.AppendUint32(b, e.Experimenter)
	}
	room := maxMessage - (len(b) - start)
	return end(append(b, e.Data[:min(len(e.Data), room)]...), start)
}

// errorNames has for each type the prefix and then the codes from 0 on. A code has the same name in all versions.
var errorNames = [...]string{
	0: "OFPHFC INCOMPATIBLE EPERM",
	1: "OFPBRC BAD_VERSION BAD_TYPE BAD_MULTIPART BAD_EXPERIMENTER BAD_EXP_TYPE EPERM BAD_LEN BUFFER_EMPTY " +
		"BUFFER_UNKNOWN BAD_TABLE_ID IS_SLAVE BAD_PORT BAD_PACKET MULTIPART_BUFFER_OVERFLOW MULTIPART_REQUEST_TIMEOUT " +
		"MULTIPART_REPLY_TIMEOUT MULTIPART_BAD_SCHED PIPELINE_FIELDS_ONLY UNKNOWN",
	2: "OFPBAC BAD_TYPE BAD_LEN BAD_EXPERIMENTER BAD_EXP_TYPE BAD_OUT_PORT BAD_ARGUMENT EPERM TOO_MANY BAD_QUEUE " +
		"BAD_OUT_GROUP MATCH_INCONSISTENT UNSUPPORTED_ORDER BAD_TAG BAD_SET_TYPE BAD_SET_LEN BAD_SET_ARGUMENT " +
		"BAD_SET_MASK BAD_METER",
	3: "OFPBIC UNKNOWN_INST UNSUP_INST BAD_TABLE_ID UNSUP_METADATA UNSUP_METADATA_MASK BAD_EXPERIMENTER BAD_EXP_TYPE " +
		"BAD_LEN EPERM DUP_INST",
	4: "OFPBMC BAD_TYPE BAD_LEN BAD_TAG BAD_DL_ADDR_MASK BAD_NW_ADDR_MASK BAD_WILDCARDS BAD_FIELD BAD_VALUE BAD_MASK " +
		"BAD_PREREQ DUP_FIELD EPERM",
	5: "OFPFMFC UNKNOWN TABLE_FULL BAD_TABLE_ID OVERLAP EPERM BAD_TIMEOUT BAD_COMMAND BAD_FLAGS CANT_SYNC BAD_PRIORITY " +
		"IS_SYNC",
	6: "OFPGMFC GROUP_EXISTS INVALID_GROUP WEIGHT_UNSUPPORTED OUT_OF_GROUPS OUT_OF_BUCKETS CHAINING_UNSUPPORTED " +
		"WATCH_UNSUPPORTED LOOP UNKNOWN_GROUP CHAINED_GROUP BAD_TYPE BAD_COMMAND BAD_BUCKET BAD_WATCH EPERM " +
		"UNKNOWN_BUCKET BUCKET_EXISTS",
	7:  "OFPPMFC BAD_PORT BAD_HW_ADDR BAD_CONFIG BAD_ADVERTISE EPERM",
	8:  "OFPTMFC BAD_TABLE BAD_CONFIG EPERM",
	9:  "OFPQOFC BAD_PORT BAD_QUEUE EPERM",
	10: "OFPSCFC BAD_FLAGS BAD_LEN EPERM",
	11: "OFPRRFC STALE UNSUP BAD_ROLE ID_UNSUP ID_IN_USE",
	12: "OFPMMFC UNKNOWN METER_EXISTS INVALID_METER UNKNOWN_METER BAD_COMMAND BAD_FLAGS BAD_RATE BAD_BURST BAD_BAND " +
		"BAD_BAND_VALUE OUT_OF_METERS OUT_OF_BANDS",
	13: "OFPTFFC BAD_TABLE BAD_METADATA BAD_TYPE BAD_LEN BAD_ARGUMENT EPERM BAD_CAPA BAD_MAX_ENT BAD_FEATURES " +
		"BAD_COMMAND TOO_MANY",
	14: "OFPBPC BAD_TYPE BAD_LEN BAD_VALUE TOO_MANY DUP_TYPE BAD_EXPERIMENTER BAD_EXP_TYPE BAD_EXP_VALUE EPERM",
	15: "OFPACFC INVALID UNSUPPORTED EPERM",
	16: "OFPMOFC UNKNOWN MONITOR_EXISTS INVALID_MONITOR UNKNOWN_MONITOR BAD_COMMAND BAD_FLAGS BAD_TABLE_ID BAD_OUT",
	17: "OFPBFC UNKNOWN EPERM BAD_ID BUNDLE_EXIST BUNDLE_CLOSED OUT_OF_BUNDLES BAD_TYPE BAD_FLAGS MSG_BAD_LEN " +
		"MSG_BAD_XID MSG_UNSUP MSG_CONFLICT MSG_TOO_MANY MSG_FAILED TIMEOUT BUNDLE_IN_PROGRESS SCHED_NOT_SUPPORTED " +
		"SCHED_FUTURE SCHED_PAST",
}

// niciraErrors are codes of experimenter 0x2320.
var niciraErrors = map[uint16]string{
	2:  "NXBRC_NXM_INVALID",
	3:  "NXBRC_NXM_BAD_TYPE",
	4:  "NXBRC_MUST_BE_ZERO",
	5:  "NXBRC_BAD_REASON",
	9:  "NXBRC_FM_BAD_EVENT",
	10: "NXBRC_UNENCODABLE_ERROR",
	11: "NXBAC_MUST_BE_ZERO",
	12: "NXFMFC_HARDWARE",
	13: "NXFMFC_BAD_TABLE_ID",
	15: "NXBAC_BAD_CONJUNCTION",
	16: "NXTTMFC_BAD_COMMAND",
	17: "NXTTMFC_BAD_OPT_LEN",
	18: "NXTTMFC_BAD_FIELD_IDX",
	19: "NXTTMFC_TABLE_FULL",
	20: "NXTTMFC_ALREADY_MAPPED",
	21: "NXTTMFC_DUP_ENTRY",
	22: "OFPBFC_BAD_VERSION",
	34: "NXR_NOT_SUPPORTED",
	35: "NXR_STALE",
	36: "NXST_NOT_CONFIGURED",
	37: "NXFMFC_INVALID_TLV_FIELD",
	38: "NXTTMFC_INVALID_TLV_DEL",
	39: "NXBAC_BAD_HEADER_TYPE",
	40: "NXBAC_UNKNOWN_ED_PROP",
	41: "NXBAC_BAD_ED_PROP",
	42: "NXBAC_CT_DATAPATH_SUPPORT",
	43: "NXBMC_CT_DATAPATH_SUPPORT",
	44: "NXTTFFC_DUP_TABLE",
}

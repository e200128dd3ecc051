package openflow

import (
	"fmt"
	"testing"
)

func TestNames(t *testing.T) {
	tests := []struct {
		value fmt.Stringer
		want  string
	}{
		{V13, "1.3"}, {V15, "1.5"}, {Version(1), "1.0"}, {Version(0), "version(0)"}, {Version(7), "version(7)"},
		{TypeHello, "HELLO"}, {TypeMultipartReply, "MULTIPART_REPLY"}, {TypeMeterMod, "METER_MOD"},
		{TypeBundleAdd, "BUNDLE_ADD_MESSAGE"}, {TypeControllerStatus, "CONTROLLER_STATUS"}, {Type(36), "type(36)"},
		{FlowAdd, "ADD"}, {FlowModify, "MOD"}, {FlowModifyStrict, "MOD_STRICT"}, {FlowDelete, "DEL"},
		{FlowDeleteStrict, "DEL_STRICT"}, {FlowCommand(5), "command(5)"},
		{BundleOpen, "open"}, {BundleCommitted, "committed"}, {BundleType(8), "bundle type(8)"},
		{PortAdded, "add"}, {PortDeleted, "delete"}, {PortModified, "modify"}, {PortReason(3), "reason(3)"},
		{RoleNoChange, "nochange"}, {RoleEqual, "equal"}, {RoleMaster, "master"}, {RoleSlave, "slave"}, {Role(4), "role(4)"},
		{Hello{Version: V13}, "at most 1.3"}, {Hello{Bitmap: 1<<V13 | 1<<V15, HasBitmap: true}, "[1.3 1.5]"},
	}
	for _, tt := range tests {
		if got := tt.value.String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	// The numbers of OFPT_*, at the places where the two versions might have come apart.
	for typ, want := range map[Type]uint8{TypePacketIn: 10, TypeFlowMod: 14, TypeMultipartRequest: 18, TypeBarrierRequest: 20,
		TypeRoleRequest: 24, TypeMeterMod: 29, TypeBundleControl: 33, TypeBundleAdd: 34, TypeControllerStatus: 35} {
		if uint8(typ) != want {
			t.Errorf("%s is %d, want %d", typ, typ, want)
		}
	}
	err := error(&TypeMismatchError{Got: TypeHello, Want: TypeError})
	if _, got := ParseError(AppendHello(nil, 1, V13)); got.Error() != err.Error() {
		t.Errorf("%v, want %v", got, err)
	}
}

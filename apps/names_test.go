package apps

import "testing"

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		TableName(TableClassify): "classify", TableName(TableOutput): "output", TableName(254): "",
		MeterName(MeterVIP): "first packets to VIPs",
		MeterName(13):       "copies of what port 3 sends", MeterName(1007): "refusals of VIP 7", MeterName(66543): "hand-over of VIP 7", MeterName(1 << 30): "",
		GroupName(GroupCopy): "on, with a copy to the controller", GroupName(GroupOfVIP(7)): "backends of VIP 7", GroupName(99): "",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

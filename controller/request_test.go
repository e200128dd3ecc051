package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/evenflow/evenflow/controller"
	"github.com/evenflow/evenflow/controller/controllertest"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/openflow"
	"github.com/google/go-cmp/cmp"
)

func TestAskRule(t *testing.T) {
	eachVersion(t, controller.Config{}, func(t *testing.T, h *harness, fake *controllertest.Switch) {
		fake.Put(`table=40, priority=5,ip,nw_src=10.0.0.1 actions=output:1
table=40, priority=6,ip,nw_src=10.0.0.1 actions=output:2
table=40, priority=5,ip,nw_src=10.0.0.1,nw_dst=10.0.0.2 actions=output:3`)
		asked := flows.MustParseRule("table=40, priority=5,ip,nw_src=10.0.0.1 actions=drop")
		fake.Hit(&asked, flows.Stats{Packets: 12})
		sw := h.session()
		sw.AskRule(&asked)
		asked.Match = asked.Match[:0].Num(flows.EthType, 0x0806) // may be used again at once
		h.until(t, "stats")
		gone := flows.MustParseRule("table=40, priority=7,ip,nw_src=10.0.0.1 actions=drop")
		sw.AskRule(&gone)
		h.untilNth(t, "stats", 2)
		fake.Intercept(func(m controllertest.Message) controllertest.Verdict {
			return controllertest.Verdict{Refuse: &openflow.Error{Type: openflow.ErrBadRequest, Code: 2}}
		})
		sw.AskRule(&gone)
		h.until(t, "error")
		want := []string{
			"connected []",
			"stats table=40, priority=5,ip,nw_src=10.0.0.1 actions=output:1 packets=12 found=true",
			"stats table=40, priority=7,ip,nw_src=10.0.0.1 actions=drop packets=0 found=false",
			"error to statistics of table=40, priority=7,ip,nw_src=10.0.0.1 actions=drop: OFPBRC_BAD_MULTIPART (1/2)",
		}
		if diff := cmp.Diff(want, h.log()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAskRuleUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, controller.Config{AskMax: 2})
		fake := controllertest.NewSwitch(1)
		h.connect(fake)
		fake.Intercept(func(m controllertest.Message) controllertest.Verdict {
			return controllertest.Verdict{Ignore: m.Type == openflow.TypeMultipartRequest}
		})
		rule := flows.MustParseRule("priority=7,ip actions=drop")
		for range 3 {
			h.session().AskRule(&rule)
		}
		h.until(t, "error to statistics of priority=7,ip actions=drop: too many requests under way")
		h.untilNth(t, "error to statistics of priority=7,ip actions=drop: no answer to rule statistics within 30s", 2)
		fake.Intercept(nil)
		h.session().AskRule(&rule)
		h.until(t, "stats")
		h.stop()
	})
}

func TestReading(t *testing.T) {
	eachVersion(t, controller.Config{}, func(t *testing.T, h *harness, fake *controllertest.Switch) {
		var text strings.Builder
		text.WriteString("meter=7 pktps burst bands=type=drop rate=50 burst_size=5\ngroup_id=3,type=indirect,bucket=bucket_id:0,actions=output:1\n")
		for i := range 1000 { // in many pieces
			fmt.Fprintf(&text, "cookie=%#x, table=%d, priority=%d,ip,nw_dst=10.0.%d.%d actions=output:%d\n", 1+i%2, i%7, i, i/256, i%256, i+1)
		}
		fake.Put(text.String())
		sw, ctx := h.session(), t.Context()
		var got flows.State
		rules, err := sw.Flows(ctx, openflow.FlowFilter{Table: 0xff})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules {
			got.Rules = append(got.Rules, r.Rule)
		}
		if got.Groups, err = sw.Groups(ctx); err != nil {
			t.Fatal(err)
		}
		if got.Meters, err = sw.Meters(ctx); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fake.Dump(), got.String()); diff != "" {
			t.Error(diff)
		}
		some, err := sw.Flows(ctx, openflow.FlowFilter{Table: 3, Cookie: 2, CookieMask: 2})
		if err != nil || len(some) != 72 {
			t.Errorf("%d rules of one table and cookie, %v", len(some), err)
		}

		fake.Intercept(func(m controllertest.Message) controllertest.Verdict {
			return controllertest.Verdict{Ignore: m.Type == openflow.TypeMultipartRequest}
		})
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		_, err = sw.Groups(cancelled)
		mustBe(t, err, context.Canceled)
		fake.Intercept(func(m controllertest.Message) controllertest.Verdict {
			return controllertest.Verdict{Refuse: &openflow.Error{Type: openflow.ErrBadRequest, Code: 2}}
		})
		_, err = sw.Meters(ctx)
		mustBe(t, err, &openflow.Error{Type: openflow.ErrBadRequest, Code: 2})
		fake.Intercept(func(m controllertest.Message) controllertest.Verdict {
			return controllertest.Verdict{Ignore: true, Send: openflow.AppendBarrierReply(nil, sw.Info().Version, m.XID)}
		})
		_, err = sw.Meters(ctx)
		mustBe(t, err, controller.ErrProtocol)
		fake.Intercept(nil)
		if _, err = sw.Meters(ctx); err != nil {
			t.Errorf("after all that: %v", err)
		}
		fake.Disconnect()
		h.until(t, "disconnected")
		_, err = sw.Flows(ctx, openflow.FlowFilter{Table: 0xff})
		mustBe(t, err, controller.ErrLost)
	})
}

func TestReplyTooLong(t *testing.T) {
	h := start(t, controller.Config{ReadMax: 4000})
	fake := controllertest.NewSwitch(1)
	h.connect(fake)
	for i := range 100 {
		fake.Put(fmt.Sprintf("priority=%d,ip actions=drop", i+1))
	}
	_, err := h.session().Flows(t.Context(), openflow.FlowFilter{Table: 0xff})
	if err == nil || !strings.Contains(err.Error(), "more than 4000 bytes") {
		t.Error(err)
	}
}

// Package controllertest is a switch in memory, for tests of what talks to switches: it shakes hands, keeps rules, groups
// and meters, does bundles, answers what a controller asks in OpenFlow 1.3 and 1.5, and misbehaves on demand.
//
//	fake := controllertest.NewSwitch(1, controllertest.Ports(1, 2))
//	go ctl.Serve(ctx, fake.Connect())                    // over a pipe in memory, or
//	err := fake.Dial(ctx, "unix", path)                  // over a socket
//
//	fake.Await(ctx, func() bool { return fake.Count(openflow.TypeFlowMod) > 0 })
//	got := fake.Dump()                                   // meters, groups, rules, as package flows writes them
//	fake.PacketIn(1, cookie, frame)
//
// Its state outlives its connections, as a real switch's does; [Switch.Restart] clears it. Everything received is kept
// ([Switch.Received]), so that a test can say what must not have been sent.
//
// It forwards no packets: a packet-out is recorded and goes nowhere, timeouts do not run out. What a switch cannot do by
// itself is injected: packet-ins, port changes, rules that end. Misbehaviour is switched on while it runs: errors for
// chosen messages ([Switch.Intercept]), silence ([Switch.Mute]), a peer that does not read ([Switch.Freeze]), any bytes
// ([Switch.Write]).
package controllertest

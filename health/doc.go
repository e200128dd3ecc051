// Package health probes backends through the switches, and says which are down.
//
// A probe leaves by a packet-out at the port of the backend's host, and a rule of the host brings just its answer back from
// there. So the controller needs no address in that network, and no other host sees anything of it; no connection tracking is
// passed either.
//
//   - target.go: what is probed, as the view has it, and where
//   - frame.go, answer.go: probes, and what answers them
//   - rules.go: the rules that bring answers
//   - state.go: when a backend is down, and up again
//   - prober.go, schedule.go: when to probe
//
// [Prober] has one goroutine, that of Run. It does not decide what becomes of a backend that is down: whoever makes the view asks
// for [Prober.Verdict].
package health

// Package engine is the loop between the switches and the apps. Events of switches, users and time go in; the model
// and the topology change; an immutable view comes out; what owners want on each switch is computed anew where the view has
// changed, and handed to the controller, which makes it so and confirms it.
//
//   - queue.go: what waits for the loop, bounded
//   - loop.go: one turn: apply what has come, settle
//   - dispatch.go: a packet-in finds its app, in the session's reader, without the loop
//   - view.go, dirty.go: the new view and the owners it changes
//   - model.go, write.go: VIPs as stored, and the writes of users
//   - status.go, read.go: what is confirmed, and what users read
//
// Only the loop changes the model and the topology. Everything else reads the view.
package engine

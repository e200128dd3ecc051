// Package controller keeps the sessions with switches: it alone owns their sockets.
//
// A [Controller] listens, shakes hands, reads what a switch holds and tells its [Handler]. The handler answers with the
// whole desired state ([Controller.Replace]) and later with what changes ([Controller.Update]). The controller makes the
// switch equal to it in as few messages as possible, in transactions that take effect wholly or not at all, confirms
// each owner's part ([Handler.Applied]), and mends drift at every audit.
//
// What is urgent goes beside that: packet-outs and rules of connections are appended to the session's write buffer
// ([Switch.Add], [Switch.PacketOut]) from any goroutine without waiting.
//
// # Sessions
//
// Each connection has one reader, which takes messages in order and calls the handler itself, and one writer, which
// writes all that has gathered. Echo requests are answered in the reader. A peer that says nothing to an echo request, or
// does not read what is sent, loses its session with a logged reason; so does one that sends what cannot be OpenFlow.
// Messages of unknown types are counted and ignored.
//
// A second connection that claims a datapath id in use is refused if the first still answers an echo request, and takes
// over if not. Auxiliary connections are refused.
package controller

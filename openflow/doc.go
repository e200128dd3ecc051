// Package openflow is the wire codec: messages of OpenFlow 1.3 and 1.5 with the Nicira and Netronome extensions that
// Evenflow uses, to and from the plain values of package flows. It opens no sockets and keeps no state.
//
// Encoders append one whole message to the caller's buffer and return it, like append. When a value cannot be written
// they return the buffer as it was and a [*ValueError] or an [*UnsupportedError].
//
// Parsers take one whole message as [Reader.Next] returns it. They check every length, skip or keep what they do not
// know, and return a [*FormatError] for impossible lengths. They are safe on any input.
//
// A Version is [V13] or [V15]. Section numbers in comments are those of the OpenFlow 1.5.1 specification unless said
// otherwise; Nicira and Netronome extensions are as Open vSwitch 3.1 speaks them.
package openflow

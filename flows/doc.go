// Package flows holds what a switch can be told, as plain values: matches, actions, rules, groups, meters; their
// canonical text in ovs-ofctl syntax, both ways; and the difference between two states.
//
// Nothing here knows bytes on the wire (package openflow does) or what the rules are for (package apps does).
package flows

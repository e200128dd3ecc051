// Package e2e holds the end-to-end tests: the built program with real Open vSwitch, by package lab, and real sockets of
// clients and backends. It has nothing but tests, which need root.
//
// Each test has a network of its own and runs beside the others; the controller is a child process in a namespace of its own,
// so that it can be killed and its addresses are nobody else's.
package e2e

// Package ops holds the tests of what operators run beside the program: scripts/attach-bridge on real Open vSwitch, the
// installation, the Debian package. It has nothing but tests, which need root.
package ops

// Package agent tells a controller which connections the host of a backend has. It runs there (evenflow agent), and reads all TCP
// sockets of its network namespace by INET_DIAG (sock_diag(7)), which takes no privileges.
//
// A report is always whole, never a change of the one before: so nothing can be lost between two of them, and a controller
// that has restarted knows all after the next. What the controller needs to know is when a report was begun; since clocks differ, it hands
// out a number with each answer, which the next report repeats.
package agent

// Package agent tells a controller which connections the host of a backend has. It runs there (evenflow agent), and reads all TCP
// sockets of its network namespace by INET_DIAG (sock_diag(7)), which takes no privileges, and what the kernel tracks of UDP by
// ctnetlink, which takes CAP_NET_ADMIN.
//
// It holds one HTTP request open, whose bodies are the lines of package wire. The controller asks for all connections when it needs
// them; meanwhile it is told what has changed. Nobody sends more than the other has read: an agent that cannot write does not read the
// kernel, and what has come and gone meanwhile is never told.
package agent

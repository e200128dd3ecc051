// Command ofload loads an OpenFlow controller with packet-ins from emulated
// switches and measures its replies. See README.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	args := os.Args[1:]
	cmd := "load"
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		cmd, args = args[0], args[1:]
	}
	var err error
	switch cmd {
	case "load":
		err = cmdLoad(ctx, args)
	case "reflect":
		err = cmdReflect(ctx, args)
	case "echo":
		err = cmdEcho(ctx, args)
	case "compare":
		err = cmdCompare(ctx, args)
	default:
		err = fmt.Errorf("unknown command %q: load, reflect, echo or compare", cmd)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ofload:", err)
		os.Exit(1)
	}
}

func loadFlags(fs *flag.FlagSet, o *Options) {
	fs.StringVar(&o.Addr, "addr", o.Addr, "controller `host:port`")
	fs.StringVar(&o.OF, "of", o.OF, "OpenFlow `version`: 1.3 or 1.5")
	fs.IntVar(&o.Switches, "switches", o.Switches, "emulated switches")
	fs.IntVar(&o.Ports, "ports", o.Ports, "ports of each switch")
	fs.StringVar(&o.Links, "links", o.Links, "links between the switches: none, star, line or ring")
	fs.IntVar(&o.Hosts, "hosts", o.Hosts, "emulated hosts (backends), of all switches together")
	fs.StringVar(&o.HostBase, "host-base", o.HostBase, "`address` of the first emulated host")
	fs.StringVar(&o.HostSwitch, "host-switch", o.HostSwitch, "where the emulated hosts are: first switch or spread over all")
	fs.IntVar(&o.Clients, "clients", o.Clients, "sending clients (MACs or addresses) of each switch")
	fs.StringVar(&o.Mode, "mode", o.Mode, "latency (one packet-in outstanding per switch), throughput (up to -window) or rate")
	fs.Float64Var(&o.Rate, "rate", o.Rate, "open loop: packet-ins per `second`, all switches together (sets -mode rate)")
	fs.IntVar(&o.Window, "window", o.Window, "packet-ins outstanding per switch: 0 is 64 in throughput mode, in rate mode as many as possible (4096)")
	fs.StringVar(&o.Payload, "payload", o.Payload, "l2, l2known, arp or syn")
	fs.StringVar(&o.Target, "target", o.Target, "address asked for (arp) or VIP (syn)")
	fs.IntVar(&o.TPort, "tport", o.TPort, "VIP port (syn)")
	fs.StringVar(&o.Src, "client-base", o.Src, "first client `address` (arp, syn)")
	fs.StringVar(&o.Src, "src", o.Src, "same as -client-base")
	fs.StringVar(&o.DstMAC, "dstmac", o.DstMAC, "destination MAC (syn): the controller's VIP MAC")
	fs.IntVar(&o.Size, "size", o.Size, "frame bytes (l2, l2known)")
	fs.StringVar(&o.Complete, "complete", o.Complete, "reply that completes a packet-in: any, mod (FLOW_MOD), out (PACKET_OUT) or both")
	fs.BoolVar(&o.Buffered, "buffered", o.Buffered, "send buffer ids instead of OFP_NO_BUFFER")
	fs.BoolVar(&o.FIFO, "fifo", o.FIFO, "let a reply that names no packet-in complete the oldest one")
	fs.DurationVar(&o.Duration, "duration", o.Duration, "measured time")
	fs.DurationVar(&o.Warmup, "warmup", o.Warmup, "load before measuring")
	fs.DurationVar(&o.Settle, "settle", o.Settle, "wait between the handshakes and the load, for discovery")
	fs.DurationVar(&o.Timeout, "timeout", o.Timeout, "give a packet-in up after this")
	fs.IntVar(&o.PID, "pid", o.PID, "also report this process's CPU and memory")
	fs.BoolVar(&o.Hold, "hold", o.Hold, "list the rules, groups and meters that were sent before the load when asked (else lists are empty)")
	fs.BoolVar(&o.Remote, "remote", o.Remote, "allow an address that is not loopback (own test hosts in namespaces)")
}

func printJSON(v any) error {
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func cmdLoad(ctx context.Context, args []string) error {
	o := defaults()
	fs := flag.NewFlagSet("ofload", flag.ExitOnError)
	loadFlags(fs, &o)
	_ = fs.Parse(args)
	res, err := Run(ctx, o)
	if err != nil {
		return err
	}
	return printJSON(res)
}

func cmdReflect(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("ofload reflect", flag.ExitOnError)
	listen := fs.String("listen", "127.0.0.1:6653", "`address` to listen on")
	of := fs.String("of", "1.3", "OpenFlow version")
	reply := fs.String("reply", "both", "out, mod, both, or two: both, with two FLOW_MODs for TCP, the pair of a balanced connection")
	_ = fs.Parse(args)
	rf := &reflector{ver: ver13}
	switch *reply {
	case "out":
		rf.out = true
	case "mod":
		rf.mod = true
	case "both":
		rf.mod, rf.out = true, true
	case "two":
		rf.two, rf.out = true, true
	default:
		return fmt.Errorf("-reply %q: out, mod, both or two", *reply)
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	if *of == "1.5" {
		rf.ver = ver15
	}
	go rf.serve(l)
	<-ctx.Done()
	return l.Close()
}

func cmdEcho(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("ofload echo", flag.ExitOnError)
	serve := fs.String("serve", "", "only serve on this `address`")
	addr := fs.String("addr", "", "use the echo server at this `address` (empty: one in this process)")
	conns := fs.Int("conns", 1, "connections")
	window := fs.Int("window", 1, "messages outstanding per connection")
	size := fs.Int("size", 106, "message bytes (a PACKET_IN with a 64-byte frame is 106)")
	d := fs.Duration("duration", 5*time.Second, "time")
	_ = fs.Parse(args)
	if *serve != "" {
		l, err := net.Listen("tcp", *serve)
		if err != nil {
			return err
		}
		go serveEcho(l)
		<-ctx.Done()
		return l.Close()
	}
	if *addr == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		go serveEcho(l)
		*addr = l.Addr().String()
	} else if host, _, err := net.SplitHostPort(*addr); err != nil || !net.ParseIP(host).IsLoopback() {
		return fmt.Errorf("%q is not a loopback address", *addr)
	}
	h, el, err := rawEcho(ctx, *addr, *conns, *window, *size, *d)
	if err != nil {
		return err
	}
	us := func(q float64) float64 { return float64(h.quantile(q)) / 1000 }
	return printJSON(map[string]any{"conns": *conns, "window": *window, "size": *size, "messages_per_s": float64(h.count) / el,
		"latency_us": map[string]float64{"min": float64(h.min) / 1000, "median": us(.5), "p99": us(.99)}})
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sort"
	"strings"
	"syscall"
	"time"
)

// peer is one controller to compare, from the peers file.
type peer struct {
	Name     string   `json:"name"`
	Cmd      []string `json:"cmd"`      // started for each run; {addr}, {host}, {port}, {http}, {tmp} are replaced
	Setup    []string `json:"setup"`    // run once when the ports answer; replaced alike
	Load     []string `json:"load"`     // load flags for this peer, after those of the command line
	Env      []string `json:"env"`      // added to the environment of both; replaced alike
	OF       string   `json:"of"`       // default 1.3
	Complete string   `json:"complete"` // default any
	Payloads []string `json:"payloads"` // those it can answer (empty: all)
	FIFO     bool     `json:"fifo"`
}

type cell struct {
	Peer     string  `json:"peer"`
	Payload  string  `json:"payload"`
	Mode     string  `json:"mode"`
	Switches int     `json:"switches"`
	Result   *Result `json:"result,omitempty"`
	Err      string  `json:"error,omitempty"`
}

func cmdCompare(ctx context.Context, args []string) error {
	o := defaults()
	fs := flag.NewFlagSet("ofload compare", flag.ExitOnError)
	loadFlags(fs, &o)
	file := fs.String("peers", "peers.json", "peers `file`")
	runs := fs.Int("runs", 3, "runs of each")
	payloads := fs.String("payloads", "l2,l2known", "payloads")
	switches := fs.String("counts", "1,16", "switch counts")
	modes := fs.String("modes", "latency,throughput", "modes (with -rate, rate only)")
	only := fs.String("only", "", "comma-separated names of the peers to run")
	outFile := fs.String("json", "", "also write all results to this `file`")
	_ = fs.Parse(args)
	if o.Rate > 0 {
		*modes = "rate"
	}
	b, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	var peers []peer
	if err := json.Unmarshal(b, &peers); err != nil {
		return fmt.Errorf("%s: %w", *file, err)
	}
	var cells []cell
	for run := range *runs {
		for _, pay := range strings.Split(*payloads, ",") {
			for _, mode := range strings.Split(*modes, ",") {
				for _, sc := range strings.Split(*switches, ",") {
					var n int
					if _, err := fmt.Sscan(sc, &n); err != nil {
						return err
					}
					// peers are interleaved, so that a change of the machine meets all alike
					for _, p := range peers {
						if !picked(p, *only, pay) {
							continue
						}
						if ctx.Err() != nil {
							return ctx.Err()
						}
						q := o
						q.Payload, q.Mode, q.Switches = pay, mode, n
						res, err := runPeer(ctx, p, q)
						c := cell{Peer: p.Name, Payload: pay, Mode: mode, Switches: n, Result: res}
						if err != nil {
							c.Err = err.Error()
							fmt.Fprintf(os.Stderr, "run %d %s %s %s %d: %v\n", run+1, p.Name, pay, mode, n, err)
						} else {
							fmt.Fprintf(os.Stderr, "run %d %s %s %s %d: %.0f/s median %.1f us p99 %.1f us lost %d\n", run+1, p.Name, pay, mode, n,
								res.RepliesS, res.LatencyUS.Median, res.LatencyUS.P99, res.Counts.Lost)
						}
						cells = append(cells, c)
					}
				}
			}
		}
	}
	if *outFile != "" {
		b, _ := json.MarshalIndent(cells, "", " ")
		if err := os.WriteFile(*outFile, b, 0o644); err != nil {
			return err
		}
	}
	fmt.Print(table(cells))
	return nil
}

func picked(p peer, only, pay string) bool {
	in := func(list []string, s string) bool {
		for _, x := range list {
			if x == s {
				return true
			}
		}
		return len(list) == 0 || len(list) == 1 && list[0] == ""
	}
	return in(strings.Split(only, ","), p.Name) && in(p.Payloads, pay)
}

// freePorts are two loopback addresses that nobody listens on.
func freePorts() (a, b string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer l.Close()
	m, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer m.Close()
	return l.Addr().String(), m.Addr().String(), nil
}

func runPeer(ctx context.Context, p peer, o Options) (res *Result, err error) {
	if len(p.Cmd) == 0 {
		return nil, errors.New("no cmd")
	}
	addr, httpAddr, err := freePorts()
	if err != nil {
		return nil, err
	}
	o.Addr = addr
	host, port, _ := net.SplitHostPort(addr)
	_, httpPort, _ := net.SplitHostPort(httpAddr)
	tmp, err := os.MkdirTemp("", "ofload-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	rep := strings.NewReplacer("{addr}", addr, "{host}", host, "{port}", port, "{http}", httpPort, "{tmp}", tmp)
	command := func(ctx context.Context, argv []string) *exec.Cmd {
		a := make([]string, len(argv))
		for i := range argv {
			a[i] = rep.Replace(argv[i])
		}
		c := exec.CommandContext(ctx, a[0], a[1:]...)
		c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
		c.WaitDelay = 3 * time.Second
		c.Env = os.Environ()
		for _, e := range p.Env {
			c.Env = append(c.Env, rep.Replace(e))
		}
		return c
	}
	cmd := command(ctx, p.Cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(3 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
	}()
	answers := func(addr string) error {
		for i := 0; ; i++ {
			c, err := net.DialTimeout("tcp", addr, time.Second)
			if err == nil {
				return c.Close()
			}
			if i == 150 {
				return fmt.Errorf("%s did not listen on %s in 15 s", p.Name, addr)
			}
			select {
			case err := <-done:
				done <- err
				return fmt.Errorf("%s ended: %v", p.Name, err)
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	if err := answers(o.Addr); err != nil {
		return nil, err
	}
	if strings.Contains(strings.Join(append(append([]string{}, p.Cmd...), p.Env...), " "), "{http}") {
		if err := answers(httpAddr); err != nil {
			return nil, err
		}
	}
	time.Sleep(300 * time.Millisecond)
	if len(p.Setup) > 0 {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		out, err := command(ctx, p.Setup).CombinedOutput()
		cancel()
		if err != nil {
			return nil, fmt.Errorf("setup of %s: %w: %s", p.Name, err, out[max(0, len(out)-500):])
		}
	}
	o.PID = cmd.Process.Pid
	if p.OF != "" {
		o.OF = p.OF
	}
	if p.Complete != "" {
		o.Complete = p.Complete
	}
	o.FIFO = o.FIFO || p.FIFO
	fs := flag.NewFlagSet("load of "+p.Name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	loadFlags(fs, &o)
	if err := fs.Parse(p.Load); err != nil {
		return nil, err
	}
	return Run(ctx, o)
}

func median(v []float64) float64 {
	sort.Float64s(v)
	switch n := len(v); {
	case n == 0:
		return 0
	case n%2 == 1:
		return v[n/2]
	default:
		return (v[n/2-1] + v[n/2]) / 2
	}
}

// table gives the medians of all runs, in Markdown.
func table(cells []cell) string {
	type key struct {
		pay, mode string
		n         int
		peer      string
	}
	by := map[key][]*Result{}
	fails := map[key]int{}
	var order []key
	for _, c := range cells {
		k := key{c.Payload, c.Mode, c.Switches, c.Peer}
		if by[k] == nil && fails[k] == 0 {
			order = append(order, k)
		}
		if c.Result == nil {
			fails[k]++
			continue
		}
		by[k] = append(by[k], c.Result)
	}
	var b strings.Builder
	b.WriteString("| payload | mode | switches | peer | replies/s (median) | min–max of runs | FLOW_MOD/s | PACKET_OUT/s | FLOW_MODs per packet-in | lat min µs | lat median µs | lat p99 µs | lost | controller CPU µs/reply | RSS MB | other CPU % of one core | failed runs |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, k := range order {
		rs := by[k]
		m := func(f func(*Result) float64) float64 {
			v := make([]float64, 0, len(rs))
			for _, r := range rs {
				v = append(v, f(r))
			}
			return median(v)
		}
		lo, hi := 0.0, 0.0
		for i, r := range rs {
			if i == 0 || r.RepliesS < lo {
				lo = r.RepliesS
			}
			hi = max(hi, r.RepliesS)
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %.0f | %.0f–%.0f | %.0f | %.0f | %.2f | %.1f | %.1f | %.1f | %.0f | %.2f | %.0f | %.0f | %d |\n", k.pay, k.mode, k.n, k.peer,
			m(func(r *Result) float64 { return r.RepliesS }), lo, hi,
			m(func(r *Result) float64 { return r.FlowModS }), m(func(r *Result) float64 { return r.PacketOutS }),
			m(func(r *Result) float64 { return r.FlowMods.Mean }),
			m(func(r *Result) float64 { return float64(r.LatencyUS.Min) }), m(func(r *Result) float64 { return float64(r.LatencyUS.Median) }),
			m(func(r *Result) float64 { return float64(r.LatencyUS.P99) }), m(func(r *Result) float64 { return float64(r.Counts.Lost) }),
			m(func(r *Result) float64 { return r.PeerCost }), m(func(r *Result) float64 { return r.PeerRSSMB }),
			m(func(r *Result) float64 { return 100 * r.CPUOthers / max(r.DurationS, 1e-9) }), fails[k])
	}
	return b.String()
}

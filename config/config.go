package config

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/evenflow/evenflow/apps"
	"github.com/evenflow/evenflow/apps/vip"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// Config is the configuration of the server. What is left out has the value of [Default].
type Config struct {
	OpenFlow         []string    `json:"openflow"`          // where switches connect: "HOST:PORT", "ssl:HOST:PORT" or "unix:PATH"
	OpenFlowTLS      SwitchTLS   `json:"openflow_tls"`      // of ssl: addresses
	OpenFlowVersions []string    `json:"openflow_versions"` // those that a switch may speak, such as "1.5"; empty: all of Versions
	HTTP             string      `json:"http"`              // where the API listens: "HOST:PORT"
	HTTPTLS          Certificate `json:"http_tls"`          // without: HTTP in the clear
	Data             string      `json:"data"`              // directory of the store, created if absent
	TokenFile        string      `json:"token_file"`        // holds the bearer token that the API asks for
	Hosts            []string    `json:"allowed_hosts"`     // names under which clients may reach the API, beside its addresses
	Log              Log         `json:"log"`
	Ports            []Port      `json:"ports"`
	Routers          []Router    `json:"routers"`
	Routes           []Route     `json:"routes"`
	PacketIn         PacketIn    `json:"packet_in"`
	Detector         Detector    `json:"detector"`
	VIPs             []vip.Spec  `json:"vips"` // of the schema of the API; never nil
}

// Log is how the server logs.
type Log struct {
	Level  string `json:"level"`  // error, warn, info, debug
	Format string `json:"format"` // text, json
}

// Port fixes what a port of a switch is, whatever LLDP says.
type Port struct {
	DPID   flows.DPID   `json:"dpid"`
	PortNo uint32       `json:"port_no"`
	Kind   string       `json:"kind"` // edge, link
	Link   *topo.PortID `json:"link"` // of a link: the port at its other end
}

// PacketIn are the rates in packets per second to which each switch limits what it sends to the controller.
type PacketIn struct {
	LLDP      uint32 `json:"lldp"`
	Neighbour uint32 `json:"neighbour"` // ARP and ND
	VIP       uint32 `json:"vip"`       // first packets of connections
	Other     uint32 `json:"other"`
	Reject    uint32 `json:"reject"` // refused connections, all together
}

// Default is the configuration without a file.
func Default() Config {
	return Config{
		OpenFlow: []string{"127.0.0.1:6653"},
		HTTP:     "127.0.0.1:8080",
		Log:      Log{Level: "info", Format: "text"},
		PacketIn: PacketIn{LLDP: apps.RateLLDP, Neighbour: apps.RateNeighbour, VIP: apps.RateVIP, Other: apps.RateOther, Reject: apps.RateReject},
		Detector: defaultDetector(),
		VIPs:     []vip.Spec{},
	}
}

// Parse reads a configuration file. The error is [Errors].
func Parse(file string, data []byte) (Config, error) {
	c := Default()
	docs, err := parse(file, data)
	switch {
	case err != nil:
		return c, err
	case len(docs) == 0:
		return c, nil
	case len(docs) > 1:
		return c, Errors{{file, docs[1].root.GetToken().Position.Line, "", "a second document; a configuration is one"}}
	}
	d := docs[0]
	d.decode(&c)
	d.check(&c)
	if c.VIPs == nil {
		c.VIPs = []vip.Spec{}
	}
	return c, d.err()
}

func (d *document) check(c *Config) {
	if len(c.OpenFlow) == 0 {
		d.fail("openflow", "want at least one address")
	}
	for i, a := range c.OpenFlow {
		if err := CheckOpenFlow(a); err != nil {
			d.fail(fmt.Sprintf("openflow[%d]", i), "%s", err)
		}
	}
	for i, v := range c.OpenFlowVersions {
		d.oneOf(fmt.Sprintf("openflow_versions[%d]", i), v, Versions())
	}
	if err := CheckHTTP(c.HTTP); err != nil {
		d.fail("http", "%s", err)
	}
	d.oneOf("log.level", c.Log.Level, Levels())
	d.oneOf("log.format", c.Log.Format, Formats())
	for _, r := range []struct {
		key  string
		rate uint32
	}{{"lldp", c.PacketIn.LLDP}, {"neighbour", c.PacketIn.Neighbour}, {"vip", c.PacketIn.VIP}, {"other", c.PacketIn.Other},
		{"reject", c.PacketIn.Reject}} {
		if r.rate == 0 {
			d.fail("packet_in."+r.key, "0: want at least 1 packet per second")
		}
	}
	d.checkDetector(&c.Detector)
	d.checkPorts(c.Ports)
	d.checkRouters(c.Routers)
	d.checkRoutes(c)
	d.checkVIPs(c.VIPs, "vips", make(map[string]string))
}

func (d *document) checkPorts(ports []Port) {
	seen := make(map[topo.PortID]int)
	for i, p := range ports {
		at := fmt.Sprintf("ports[%d].", i)
		id := topo.PortID{DPID: p.DPID, No: p.PortNo}
		if _, ok := d.lines[at+"dpid"]; !ok {
			d.fail(at+"dpid", "is needed: 16 hex digits")
		}
		d.portNo(at+"port_no", p.PortNo)
		d.oneOf(at+"kind", p.Kind, []string{"edge", "link"})
		if p.Link != nil {
			d.portNo(at+"link.port_no", p.Link.No)
			switch {
			case p.Kind == "edge":
				d.fail(at+"link", "means nothing for kind edge; leave it out")
			case *p.Link == id:
				d.fail(at+"link", "is the port itself; want the port at the other end")
			}
		}
		if j, twice := seen[id]; twice {
			d.fail(at+"port_no", "ports[%d] is the same port", j)
		}
		seen[id] = i
	}
}

func (d *document) portNo(key string, no uint32) {
	if no == 0 || no >= flows.PortMax {
		d.fail(key, "%d: want the number of a port, 1 to %d", no, uint32(flows.PortMax)-1)
	}
}

func (d *document) oneOf(key, value string, allowed []string) {
	if !slices.Contains(allowed, value) {
		d.fail(key, "%q: want one of %s", value, strings.Join(allowed, ", "))
	}
}

// Levels are the names of log levels.
func Levels() []string { return []string{"error", "warn", "info", "debug"} }

// Formats are the names of log formats.
func Formats() []string { return []string{"text", "json"} }

// CheckOpenFlow checks an address for switches to connect to.
func CheckOpenFlow(address string) error {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if path == "" {
			return fmt.Errorf("%q: want a path, as in unix:PATH", address)
		}
		return nil
	}
	if err := checkHostPort(withoutScheme(address)); err != nil {
		return fmt.Errorf("%q: want HOST:PORT, such as 127.0.0.1:6653, ssl:HOST:PORT, or unix:PATH", address)
	}
	return nil
}

// CheckHTTP checks an address for the API to listen on.
func CheckHTTP(address string) error {
	if err := checkHostPort(address); err != nil {
		return fmt.Errorf("%q: want HOST:PORT, such as 127.0.0.1:8080", address)
	}
	return nil
}

// withoutScheme is HOST:PORT of an address for switches.
func withoutScheme(address string) string {
	return strings.TrimPrefix(strings.TrimPrefix(address, "tcp:"), "ssl:")
}

func checkHostPort(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return err
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err
}

// Loopback reports whether only this machine can reach a listening address.
func Loopback(address string) bool {
	if strings.HasPrefix(address, "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(withoutScheme(address))
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}

package apps

// Count is how often something was turned away or given up. Together they are the metric evenflow_refused_total.
type Count struct {
	Part   string // of the controller: engine, topology, or an app's name
	Reason string
	N      uint64
}

// Counted is an app that counts what it turns away.
type Counted interface{ Counts() []Count }

// ProbeStats are the probes of backends of one type, and the backends that are probed so.
type ProbeStats struct {
	Type           string
	Sent, Answered uint64
	Failed         map[string]uint64 // by reason
	Up, Down       int
	Suspended      int // cannot be probed now: their host or switch is away
}

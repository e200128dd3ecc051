package main

type usec float64

// Latency is in microseconds.
type Latency struct {
	N      uint64 `json:"n"`
	Min    usec   `json:"min"`
	Mean   usec   `json:"mean"`
	Median usec   `json:"median"`
	P90    usec   `json:"p90"`
	P99    usec   `json:"p99"`
	P999   usec   `json:"p999"`
	Max    usec   `json:"max"`
}

// FlowMods tells how many FLOW_MODs named a completed packet-in, both those
// before its completion and those soon after.
type FlowMods struct {
	Mean     float64  `json:"mean"`
	ByNumber []uint64 `json:"packet_ins_by_number"` // with none, one, ... (the ninth: eight or more)
}

// Result is what one run found.
type Result struct {
	Options    Options  `json:"options"`
	DurationS  float64  `json:"duration_s"`
	HandshakeS float64  `json:"handshake_s"`
	SettleS    float64  `json:"settle_s"`
	RepliesS   float64  `json:"replies_per_s"`
	FlowModS   float64  `json:"flow_mod_per_s"`
	PacketOutS float64  `json:"packet_out_per_s"`
	GroupModS  float64  `json:"group_mod_per_s"`
	PerSecond  []uint64 `json:"completed_each_second"`
	SwitchMin  uint64   `json:"switch_min_completed"`
	SwitchMax  uint64   `json:"switch_max_completed"`
	LatencyUS  Latency  `json:"latency_us"`
	FlowMods   FlowMods `json:"flow_mods_per_completed"`
	Counts     counts   `json:"counts"`
	Before     counts   `json:"counts_before_load"` // handshake and settling
	// open loop
	Scheduled uint64   `json:"scheduled,omitempty"`
	Behind    uint64   `json:"scheduled_not_sent,omitempty"` // at the end: the window was full
	SendLagUS *Latency `json:"send_lag_us,omitempty"`        // sent this much after it was due

	CPUSelf   float64  `json:"cpu_s_generator"`
	CPUPeer   float64  `json:"cpu_s_controller,omitempty"`
	PeerCost  float64  `json:"controller_cpu_us_per_reply,omitempty"`
	PeerRSSMB float64  `json:"controller_rss_mb,omitempty"`
	CPUOthers float64  `json:"cpu_s_others"` // what other processes took meanwhile: a noisy run shows here
	Errors    []string `json:"errors,omitempty"`
}

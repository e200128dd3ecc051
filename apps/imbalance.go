package apps

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/evenflow/evenflow/anova"
	"github.com/evenflow/evenflow/flows"
	"github.com/evenflow/evenflow/topo"
)

// Watching says how the loads of ports are compared. Those of every VIP's backends are, and those of the sets.
type Watching struct {
	Off      bool
	Interval time.Duration  // of a sample
	Test     anova.Settings // MinLoad in bits per second
	Sets     []PortSet
}

// PortSet is ports to compare with each other, by a name.
type PortSet struct {
	Name  string
	Ports []WatchedPort
}

// WatchedPort is a port of a set, with its capacity in any unit.
type WatchedPort struct {
	topo.PortID
	Capacity float64
}

// Kinds of what is compared.
const (
	KindVIP   = "vip"
	KindPorts = "ports"
)

// Imbalance is how evenly ports are loaded, as the API answers it. Loads are in bits per second, both directions together.
type Imbalance struct {
	Name            string            `json:"name"`
	Kind            string            `json:"kind" enum:"vip,ports" doc:"A VIP's backends, or a set of ports of the configuration"`
	Verdict         anova.Verdict     `json:"verdict" doc:"Of the last tests together"`
	Reason          string            `json:"reason"`
	Since           time.Time         `json:"since" doc:"When the verdict was given"`
	Top             string            `json:"top" doc:"The port that the tests of the streak found; empty: none"`
	Streak          int               `json:"streak" doc:"Tests in a row, up to the last, that found that port out of balance"`
	Mode            anova.Mode        `json:"mode" enum:"robust,paper"`
	Tested          *time.Time        `json:"tested" doc:"Time of the last test; null: there was none since the window was begun"`
	F               Number            `json:"f" doc:"Variance between ports over variance within; null: no test, or infinite if p is 0"`
	DF1             Number            `json:"df1" doc:"Degrees of freedom between"`
	DF2             Number            `json:"df2" doc:"Degrees of freedom within"`
	P               Number            `json:"p" doc:"Probability of such an F among equally loaded ports"`
	EffectSize      Number            `json:"effect_size" doc:"Deviation of the port farthest from its fair share, as a part of that"`
	Alpha           float64           `json:"alpha" doc:"Level of the test"`
	Gate            float64           `json:"gate" doc:"Effect size from which on a difference matters"`
	Autocorrelation Number            `json:"autocorrelation" doc:"Of successive samples; mode robust"`
	Effective       Number            `json:"effective_samples" doc:"Independent samples that the window is worth"`
	Window          ImbalanceWindow   `json:"window"`
	Ports           []ImbalancePort   `json:"ports"`
	Matrix          [][]anova.Mark    `json:"matrix" doc:"Comparison of each two compared ports in order: empty, * or **; empty: no test"`
	Pairs           []ImbalancePair   `json:"pairs" doc:"The same in numbers"`
	History         []ImbalanceResult `json:"history,omitempty" doc:"The last tests, the oldest first"`
}

// ImbalanceWindow is the samples that are tested.
type ImbalanceWindow struct {
	Samples   int       `json:"samples" doc:"Held"`
	Size      int       `json:"size" doc:"Needed"`
	Step      int       `json:"step" doc:"Samples between two tests"`
	Interval  float64   `json:"interval" doc:"Seconds between two samples"`
	Restarted time.Time `json:"restarted" doc:"When it was last begun anew"`
	Reason    string    `json:"reason" doc:"Why"`
}

// ImbalancePort is one of the ports. Those that are not compared say why.
type ImbalancePort struct {
	Name      string     `json:"name" doc:"The backends behind it, or the port's own name"`
	DPID      flows.DPID `json:"dpid"`
	PortNo    uint32     `json:"port_no"`
	Compared  bool       `json:"compared"`
	Reason    string     `json:"reason" doc:"Why it is not compared"`
	Capacity  float64    `json:"capacity" doc:"By which loads are divided"`
	Mean      Number     `json:"mean" doc:"Load over the window tested"`
	Deviation Number     `json:"deviation" doc:"From its fair share, as a part of that"`
	Samples   Series     `json:"samples,omitempty" doc:"Loads in the present window, the oldest first"`
}

// ImbalancePair is the comparison of two ports.
type ImbalancePair struct {
	A          string     `json:"a"`
	B          string     `json:"b"`
	Difference Number     `json:"difference" doc:"Of loads per capacity (paper), or of shares (robust): of a less that of b"`
	P          Number     `json:"p" doc:"Adjusted for the number of comparisons"`
	Mark       anova.Mark `json:"mark"`
}

// ImbalanceResult is one test.
type ImbalanceResult struct {
	Time       time.Time     `json:"time"`
	F          Number        `json:"f"`
	P          Number        `json:"p"`
	EffectSize Number        `json:"effect_size"`
	Verdict    anova.Verdict `json:"verdict" doc:"Of this test alone"`
}

// Number is a number that JSON may not know: NaN and infinities are null.
type Number float64

// MarshalJSON writes a number, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return strconv.AppendFloat(nil, f, 'g', 6, 64), nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads what MarshalJSON has written; null is NaN.
func (n *Number) UnmarshalJSON(b []byte) error {
	f := math.NaN()
	if string(b) != "null" {
		if err := json.Unmarshal(b, &f); err != nil {
			return err
		}
	}
	*n = Number(f)
	return nil
}

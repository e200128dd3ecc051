package engine

import (
	"fmt"

	"github.com/evenflow/evenflow/anova"
)

// crowd is how live connections are spread over backends. A server that is too slow may have no more load than others, or less, but its
// connections stay.
type crowd struct {
	streak int     // tests in a row that have found them uneven
	top    string  // the backend farthest from its share, in the last test
	part   float64 // what it has of the connections, and
	share  float64 // what it should have
	p      float64
}

// test adds a test of the counts of one moment. As with loads they must differ beyond chance and by the gate.
func (c *crowd) test(all []burden, s anova.Settings) {
	counts, shares, means := make([]int64, len(all)), make([]float64, len(all)), make([]float64, len(all))
	var live, capacity float64
	for i, b := range all {
		counts[i], shares[i], means[i] = b.live, b.capacity, float64(b.live)
		live += float64(b.live)
		capacity += b.capacity
	}
	t, err := anova.Spread(counts, shares)
	if err != nil {
		*c = crowd{}
		return
	}
	top, effect := anova.Farthest(anova.Deviations(means, shares))
	if !t.Rejects(s.Alpha) || effect <= s.GateOf(len(all)) {
		*c = crowd{}
		return
	}
	*c = crowd{c.streak + 1, all[top].name, means[top] / live, shares[top] / capacity, t.P}
}

// String says what has been found.
func (c crowd) String() string {
	return fmt.Sprintf("live connections are uneven: %s has %.0f %% of them and %.0f %% of the capacity, p %.2g",
		c.top, 100*c.part, 100*c.share, c.p)
}

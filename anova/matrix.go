package anova

// Mark is how much two groups differ: the cells of the paper's port comparison matrix.
type Mark string

// Marks. The levels are alpha and a fifth of it, .05 and .01 by default.
const (
	Same   Mark = ""
	Differ Mark = "*"
	Urgent Mark = "**" // what a controller is to look at first
)

const urgent = 0.2 // of alpha

// MarkOf is a pair's mark, by its adjusted probability.
func MarkOf(p, alpha float64) Mark {
	switch {
	case p < urgent*alpha:
		return Urgent
	case p < alpha:
		return Differ
	}
	return Same
}

// Matrix is the comparison matrix of k groups. It is symmetric.
func Matrix(k int, pairs []Pair, alpha float64) [][]Mark {
	out := make([][]Mark, k)
	for i := range out {
		out[i] = make([]Mark, k)
	}
	for _, p := range pairs {
		m := MarkOf(p.P, alpha)
		out[p.I][p.J], out[p.J][p.I] = m, m
	}
	return out
}

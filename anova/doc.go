// Package anova compares the loads of ports by analysis of variance: is any port busier than the others beyond chance, which,
// and by how much? It knows nothing of networks: a group of samples is one port's, in any unit.
//
// [OneWay] with [Pairs] is the method of Zhong, Lin, Cui, Shi and Liu, "An Efficient SDN Load Balancing Scheme Based on Variance
// Analysis for Massive Mobile Users" (2015). It takes samples for independent, which those of a port's counters are not: with
// flows that last longer than a sample it calls nearly every balanced window imbalanced. [Shares] is for such samples: it looks
// at shares of the load, and counts as many samples as there are independent ones.
//
// A [Detector] runs either on samples as they come, and answers balanced, imbalanced or undecided.
package anova

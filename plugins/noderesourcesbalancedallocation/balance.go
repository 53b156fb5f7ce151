// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesbalancedallocation

import (
	"math"

	fwk "k8s.io/kube-scheduler/framework"
)

// expectedResources is how many resources can be balanced without allocating.
const expectedResources = 8

// fraction returns the share of a resource that is taken, at most 1.
func fraction(taken, allocatable int64) float64 {
	return min(1, float64(taken)/float64(allocatable))
}

// balance scores how even some fractions are by their standard deviation: 100 if they are equal or there are fewer than
// two, less by the deviation in percent.
func balance(deviation float64) int64 { return int64((1 - deviation) * float64(fwk.MaxScore)) }

// pairDeviation is the deviation of two fractions.
func pairDeviation(a, b float64) float64 { return math.Abs(a-b) / 2 }

// deviation returns the standard deviation of the fractions as a whole population.
func deviation(fractions []float64) float64 {
	switch len(fractions) {
	case 0, 1:
		return 0
	case 2:
		return pairDeviation(fractions[0], fractions[1])
	}
	var sum float64
	for _, f := range fractions {
		sum += f
	}
	mean := sum / float64(len(fractions))
	var squares float64
	for _, f := range fractions {
		squares += (f - mean) * (f - mean)
	}
	return math.Sqrt(squares / float64(len(fractions)))
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"math"

	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/polyline"
)

// strategy says how good it is for one resource of a node to be filled to a certain degree.
type strategy struct {
	// rate scores one resource. Allocatable is not zero.
	rate func(requested, allocatable int64) int64
	// selective strategies leave resources with a rate of zero out of the mean, and round the mean to the nearest
	// score instead of down.
	selective bool
	// share is what the rate is in percent, if it is that.
	share share
}

// share is a part of what a node has of a resource.
type share int

const (
	noShare share = iota
	freeShare
	takenShare
)

// newStrategy returns the strategy of validated arguments.
func newStrategy(args *configv1.ScoringStrategy) strategy {
	switch args.Type {
	case configv1.MostAllocated:
		return mostAllocated()
	case configv1.RequestedToCapacityRatio:
		return requestedToCapacityRatio(args.RequestedToCapacityRatio.Shape)
	default:
		return leastAllocated()
	}
}

// leastAllocated prefers free nodes: the share that stays free.
func leastAllocated() strategy {
	return strategy{share: freeShare, rate: func(requested, allocatable int64) int64 {
		if requested > allocatable {
			return fwk.MinScore
		}
		return (allocatable - requested) * fwk.MaxScore / allocatable
	}}
}

// mostAllocated prefers full nodes: the share that is taken.
func mostAllocated() strategy {
	return strategy{share: takenShare, rate: func(requested, allocatable int64) int64 {
		return min(requested, allocatable) * fwk.MaxScore / allocatable
	}}
}

// requestedToCapacityRatio reads the score from a shape, a curve over the share that is taken.
func requestedToCapacityRatio(shape []configv1.UtilizationShapePoint) strategy {
	return strategy{selective: true, rate: polyline.New(shape).Filled}
}

// weightedSum is the mean of the rates of several resources, in the making.
type weightedSum struct {
	strategy     strategy
	sum, weights int64
}

func (w *weightedSum) add(weight, requested, allocatable int64) {
	rate := w.strategy.rate(requested, allocatable)
	if w.strategy.selective && rate <= 0 {
		return
	}
	w.sum += rate * weight
	w.weights += weight
}

// score returns the mean, and zero if no resource counted.
func (w *weightedSum) score() int64 {
	switch {
	case w.weights == 0:
		return 0
	case w.strategy.selective:
		return int64(math.Round(float64(w.sum) / float64(w.weights)))
	default:
		return w.sum / w.weights
	}
}

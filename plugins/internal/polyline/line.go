// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package polyline

import (
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// FullUtilization is the utilization, in percent, of something that is all taken.
const FullUtilization = 100

// maxShapeScore is the highest score that a point of a shape may have; it stands for fwk.MaxScore.
const maxShapeScore = 10

// Line is a function made of straight lines between points, and level outside of them. It never changes.
type Line []point

// point has a utilization from 0 to 100 and a score from 0 to 100.
type point struct{ utilization, score int64 }

// New converts a shape, which must have at least one point; the points are ordered by utilization and have scores from 0
// to 10.
func New(shape []configv1.UtilizationShapePoint) Line {
	line := make(Line, len(shape))
	for i, given := range shape {
		line[i] = point{
			utilization: int64(given.Utilization),
			score:       int64(given.Score) * (fwk.MaxScore / maxShapeScore),
		}
	}
	return line
}

// At returns the score for a utilization, cut to an integer toward the score of the point before.
func (l Line) At(utilization int64) int64 {
	for i, point := range l {
		if utilization > point.utilization {
			continue
		}
		if i == 0 {
			return point.score
		}
		before := l[i-1]
		return before.score + (point.score-before.score)*(utilization-before.utilization)/(point.utilization-before.utilization)
	}
	return l[len(l)-1].score
}

// Filled returns the score of something of which so much is requested. What has no capacity, or not enough, counts as
// full.
func (l Line) Filled(requested, capacity int64) int64 {
	if capacity == 0 || requested > capacity {
		return l.At(FullUtilization)
	}
	return l.At(requested * FullUtilization / capacity)
}

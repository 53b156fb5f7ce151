// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// fullUtilization is the utilization, in percent, of a resource that is all taken.
const fullUtilization = 100

// polyline is a function made of straight lines between points, and level outside of them.
type polyline []polylinePoint

// polylinePoint has a utilization from 0 to 100 and a score from 0 to 100.
type polylinePoint struct{ utilization, score int64 }

// newPolyline converts a shape, whose points are ordered by utilization and have scores from 0 to 10.
func newPolyline(shape []configv1.UtilizationShapePoint) polyline {
	line := make(polyline, len(shape))
	for i, point := range shape {
		line[i] = polylinePoint{
			utilization: int64(point.Utilization),
			score:       int64(point.Score) * (fwk.MaxScore / maxShapeScore),
		}
	}
	return line
}

// at returns the score for a utilization, cut to an integer toward the score of the point before.
func (p polyline) at(utilization int64) int64 {
	for i, point := range p {
		if utilization > point.utilization {
			continue
		}
		if i == 0 {
			return point.score
		}
		before := p[i-1]
		return before.score + (point.score-before.score)*(utilization-before.utilization)/(point.utilization-before.utilization)
	}
	return p[len(p)-1].score
}

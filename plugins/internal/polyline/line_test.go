// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package polyline_test

import (
	"testing"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/plugins/internal/polyline"
)

// shape is pairs of a utilization and a score.
func shape(pairs ...int32) []configv1.UtilizationShapePoint {
	var points []configv1.UtilizationShapePoint
	for i := 0; i < len(pairs); i += 2 {
		points = append(points, configv1.UtilizationShapePoint{Utilization: pairs[i], Score: pairs[i+1]})
	}
	return points
}

func TestAt(t *testing.T) {
	tests := []struct {
		name  string
		shape []configv1.UtilizationShapePoint
		want  map[int64]int64
	}{
		{"rising", shape(0, 0, 100, 10), map[int64]int64{0: 0, 1: 1, 50: 50, 100: 100, 150: 100}},
		{"falling", shape(0, 10, 100, 0), map[int64]int64{0: 100, 25: 75, 100: 0}},
		{"level outside", shape(40, 10, 50, 0), map[int64]int64{0: 100, 40: 100, 45: 50, 50: 0, 100: 0}},
		{"one point", shape(50, 5), map[int64]int64{0: 50, 50: 50, 100: 50}},
		{"cut toward the point before", shape(0, 0, 3, 1), map[int64]int64{1: 3, 2: 6}},
		{"cut toward the point before, falling", shape(0, 1, 3, 0), map[int64]int64{1: 7, 2: 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			line := polyline.New(tt.shape)
			for utilization, want := range tt.want {
				if got := line.At(utilization); got != want {
					t.Errorf("at %d: got %d, want %d", utilization, got, want)
				}
			}
		})
	}
}

func TestFilled(t *testing.T) {
	line := polyline.New(shape(0, 10, 100, 0))
	for _, tt := range []struct{ requested, capacity, want int64 }{
		{0, 10, 100}, {3, 10, 70}, {1, 3, 67}, {10, 10, 0}, {11, 10, 0}, {0, 0, 0}, {5, 0, 0},
	} {
		if got := line.Filled(tt.requested, tt.capacity); got != tt.want {
			t.Errorf("%d of %d: got %d, want %d", tt.requested, tt.capacity, got, tt.want)
		}
	}
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

func TestDefaultNormalizeScore(t *testing.T) {
	tests := []struct {
		name    string
		max     int64
		reverse bool
		scores  []int64
		want    []int64
	}{
		{"empty", 100, false, nil, nil},
		{"stretched", 100, false, []int64{1, 2, 3, 4, 0}, []int64{25, 50, 75, 100, 0}},
		{"compressed", 10, false, []int64{1000, 10, 20}, []int64{10, 0, 0}},
		{"rounded down", 100, false, []int64{3, 1, 2}, []int64{100, 33, 66}},
		{"reversed", 100, true, []int64{1, 2, 3, 4, 0}, []int64{75, 50, 25, 0, 100}},
		{"rounded before it is reversed", 100, true, []int64{3, 1, 2}, []int64{0, 67, 34}},
		{"all zero", 100, false, []int64{0, 0}, []int64{0, 0}},
		{"all zero, reversed", 100, true, []int64{0, 0}, []int64{100, 100}},
		{"negative scores do not count for the highest", 100, false, []int64{-1, -2}, []int64{-1, -2}},
		{"negative scores reversed", 100, true, []int64{-1, -2}, []int64{100, 100}},
		{"with a positive one", 100, false, []int64{-3, 4}, []int64{-75, 100}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var scores fwk.NodeScoreList
			for _, score := range test.scores {
				scores = append(scores, fwk.NodeScore{Name: "n", Score: score})
			}
			if status := framework.DefaultNormalizeScore(test.max, test.reverse, scores); !status.IsSuccess() {
				t.Errorf("status = %v", status)
			}
			var got []int64
			for _, score := range scores {
				got = append(got, score.Score)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

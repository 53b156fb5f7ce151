// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package prioritysort

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestLess(t *testing.T) {
	entry := func(priority *int32, queuedAt time.Time) fwk.QueuedEntityInfo {
		pod := objects.Pod("p").With(func(pod *v1.Pod) { pod.Spec.Priority = priority }).Build()
		return framework.NewQueuedPodInfo(pod, queuedAt)
	}
	early := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	late := early.Add(time.Second)
	low, high := ptr.To[int32](1), ptr.To[int32](2)

	tests := []struct {
		name string
		a, b fwk.QueuedEntityInfo
		want bool
	}{
		{"lower priority first", entry(low, early), entry(high, late), false},
		{"higher priority first", entry(high, late), entry(low, early), true},
		{"equal priority, earlier first", entry(high, early), entry(high, late), true},
		{"equal priority, later first", entry(high, late), entry(high, early), false},
		{"equal priority, equal time", entry(high, early), entry(high, early), false},
		{"no priority is zero: against a higher one", entry(nil, early), entry(low, late), false},
		{"no priority is zero: against a negative one", entry(nil, late), entry(ptr.To[int32](-1), early), true},
		{"no priority is zero: against zero", entry(nil, early), entry(ptr.To[int32](0), late), true},
	}
	built, err := New(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := built.(fwk.QueueSortPlugin).Less(tt.a, tt.b); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

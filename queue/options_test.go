// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestNewReportsEverythingThatIsWrong(t *testing.T) {
	_, err := New(context.Background(), Options{InitialBackoff: -time.Second, MaxInUnschedulable: -1, MaxInFlightEvents: -1})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"creating the scheduling queue", "InitialBackoff is -1s", "MaxInUnschedulable", "MaxInFlightEvents"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q, want it to say %q", err, want)
		}
	}
}

func TestZeroOptionsWork(t *testing.T) {
	q, err := New(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	q.Add(objects.Pod("pod").Build())
	q.Move(nodeAdded, nil, node, nil)
	info, err := q.Pop()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.AddUnschedulable(info); err != nil {
		t.Fatal(err)
	}
	status, ok := q.Lookup("default", "pod")
	wantEqual(t, "found", ok, true)
	wantEqual(t, "pool", status.Pool, PoolBackoff)
}

func TestStrategyNames(t *testing.T) {
	wantEqual(t, "names", []string{Skip.String(), AfterBackoff.String(), Immediately.String()}, []string{"Skip", "AfterBackoff", "Immediately"})
}

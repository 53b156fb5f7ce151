// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/runtime"
)

func TestParallelizerDoesEveryPieceOnce(t *testing.T) {
	for _, parallelism := range []int{0, 1, 2, 16} {
		for _, pieces := range []int{0, 1, 2, 15, 1000} {
			counts := make([]int, pieces)
			var mu sync.Mutex
			runtime.NewParallelizer(parallelism, nil).Until(t.Context(), pieces, func(piece int) {
				mu.Lock()
				defer mu.Unlock()
				counts[piece]++
			}, "test")
			if i := slices.IndexFunc(counts, func(count int) bool { return count != 1 }); i >= 0 {
				t.Errorf("parallelism %d: piece %d of %d was done %d times", parallelism, i, pieces, counts[i])
			}
		}
	}
}

// How many goroutines there are shows how the pieces were cut into chunks.
func TestParallelizerGoroutines(t *testing.T) {
	tests := []struct {
		parallelism, pieces int
		want                []string
	}{
		{parallelism: 16, pieces: 0},
		{parallelism: 1, pieces: 100, want: []string{"test +1", "test -1"}},
		{parallelism: 16, pieces: 1, want: []string{"test +1", "test -1"}},
		{parallelism: 16, pieces: 10, want: []string{"test +10", "test -10"}},   // chunks of 1, by pieces/parallelism+1
		{parallelism: 16, pieces: 20, want: []string{"test +10", "test -10"}},   // chunks of 2, by pieces/parallelism+1
		{parallelism: 4, pieces: 9, want: []string{"test +3", "test -3"}},       // chunks of 3, by the square root
		{parallelism: 16, pieces: 5000, want: []string{"test +16", "test -16"}}, // chunks of 70, by the square root
	}
	for _, test := range tests {
		metrics := &recorder{}
		runtime.NewParallelizer(test.parallelism, metrics).Until(t.Context(), test.pieces, func(int) {}, "test")
		if diff := cmp.Diff(test.want, metrics.goroutines.list()); diff != "" {
			t.Errorf("%d pieces, parallelism %d (-want +got):\n%s", test.pieces, test.parallelism, diff)
		}
	}
}

func TestParallelizerWithoutParallelismKeepsOrder(t *testing.T) {
	var got []int
	runtime.NewParallelizer(1, nil).Until(t.Context(), 5, func(piece int) { got = append(got, piece) }, "test")
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, got); diff != "" {
		t.Errorf("pieces (-want +got):\n%s", diff)
	}
}

func TestParallelizerStopsWithItsContext(t *testing.T) {
	for _, parallelism := range []int{1, 4} {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		done := 0
		runtime.NewParallelizer(parallelism, nil).Until(ctx, 1000, func(int) {
			mu.Lock()
			defer mu.Unlock()
			done++
			cancel()
		}, "test")
		if done == 0 || done > parallelism {
			t.Errorf("parallelism %d: %d pieces were begun, want at most one a goroutine", parallelism, done)
		}
	}
}

func TestParallelizerRaisesPanicsInTheCaller(t *testing.T) {
	for _, parallelism := range []int{1, 4} {
		parallelizer := runtime.NewParallelizer(parallelism, nil)
		caught := func() (value any) {
			defer func() { value = recover() }()
			parallelizer.Until(t.Context(), 10, func(outer int) {
				parallelizer.Until(t.Context(), 10, func(inner int) {
					if outer == 3 && inner == 7 {
						panic("boom")
					}
				}, "inner")
			}, "outer")
			return nil
		}()
		text, isText := caught.(string)
		if err, isError := caught.(error); isError {
			text, isText = err.Error(), true
		}
		if !isText || !strings.HasPrefix(text, "boom") {
			t.Errorf("parallelism %d: recovered %v, want boom", parallelism, caught)
		}
	}
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"
)

// creators is how many requests are made at a time.
const creators = 32

// inParallel does something for each number from zero, several at a time and in order, and returns the first error.
func inParallel(ctx context.Context, count int, do func(number int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var group sync.WaitGroup
	for range min(creators, count) {
		group.Go(func() {
			for number := range numbers {
				if err := do(number); err != nil {
					cancel(err)
				}
			}
		})
	}
	for number := range count {
		if ctx.Err() != nil {
			break
		}
		numbers <- number
	}
	close(numbers)
	group.Wait()
	return context.Cause(ctx)
}

// atPace does something for each number from zero, so many times a second; without a pace, as fast as it goes.
func atPace(ctx context.Context, count, perSecond int, do func(number int) error) error {
	if perSecond <= 0 {
		return inParallel(ctx, count, do)
	}
	ticker := time.NewTicker(time.Second / time.Duration(perSecond))
	defer ticker.Stop()
	return inParallel(ctx, count, func(number int) error {
		select {
		case <-ticker.C:
			return do(number)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package tasks_test

import (
	"slices"
	"testing"

	"github.com/rouse-scheduler/rouse/internal/tasks"
)

func TestTasksRunInOrder(t *testing.T) {
	var queue tasks.Queue
	var ran []int
	if queue.RunOne() {
		t.Error("an empty queue ran a task")
	}
	queue.Add(func() {
		ran = append(ran, 1)
		queue.Add(func() { ran = append(ran, 3) })
	})
	queue.Add(func() { ran = append(ran, 2) })
	for queue.RunOne() {
	}
	if !slices.Equal(ran, []int{1, 2, 3}) {
		t.Errorf("the tasks ran in the order %v", ran)
	}
}

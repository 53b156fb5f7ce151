// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// Calls knows which plugins are being called, so that one that does not return can be named, and which ended the goroutine
// that they were called in. Frameworks may share one. The zero value is ready, and it is safe for concurrent use.
//
// Of the plugins of this module, only calls at an extension point as a whole are known, and not those for each node.
type Calls struct {
	mu        sync.Mutex
	all, free []*callRecord
	ended     map[types.UID]error
	endings   int
	serial    uint64
}

// Call is a call of a plugin that has not returned yet. Two values are equal if they are the same call.
type Call struct {
	Plugin string
	Method Method
	// Pod is what the call is about; nil if it is about none, as that of a factory.
	Pod *v1.Pod

	outOfTree bool
	serial    uint64 // of the record
}

// String says which plugin is called, where, and for which pod.
func (c Call) String() string {
	if c.Pod == nil {
		return fmt.Sprintf("%s of plugin %q", c.Method, c.Plugin)
	}
	return fmt.Sprintf("%s of plugin %q for pod %v", c.Method, c.Plugin, klog.KObj(c.Pod))
}

// InFlight returns the calls that have not returned, those of plugins that are none of this module first: where one plugin
// calls another, as preemption does, these are what is being waited for.
func (c *Calls) InFlight() []Call {
	c.mu.Lock()
	records := c.all[:len(c.all):len(c.all)]
	c.mu.Unlock()
	var calls []Call
	for _, record := range records {
		if call := record.look(); call.Plugin != "" {
			calls = append(calls, call)
		}
	}
	slices.SortStableFunc(calls, func(a, b Call) int {
		switch {
		case a.outOfTree == b.outOfTree:
			return 0
		case a.outOfTree:
			return -1
		}
		return 1
	})
	return calls
}

// Caller returns the plugin that the calling function was called by, on the way of a method that returns nothing, and its source
// line; empty if it is not known. Where several plugins are being called, it is the one of whose package a function is on
// the stack.
func (c *Calls) Caller() (call Call, source string) {
	stack := callers()
	c.mu.Lock()
	records := c.all[:len(c.all):len(c.all)]
	c.mu.Unlock()
	for _, record := range records {
		plugin, found := record.plugin.Load(), record.look()
		if plugin == nil || !plugin.outOfTree {
			continue
		}
		if line := plugin.lineIn(stack); line != "" {
			return found, line
		}
		call = found
	}
	return call, ""
}

// TakeEnded returns the error of the plugin that ended the goroutine in which it was called for a pod, and forgets it. It
// is nil if none did.
//
// A plugin that calls runtime.Goexit, as the FailNow of a test does, ends the goroutine that a method of [Framework] was
// called in, so that the method does not return. Whoever must go on calls it in another goroutine, or does the rest in a
// deferred function, and asks here who it was.
func (c *Calls) TakeEnded(pod *v1.Pod) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.ended[pod.UID]
	delete(c.ended, pod.UID)
	return err
}

// Endings returns how many times a plugin ended the goroutine of a method of [Framework] that therefore did not return.
func (c *Calls) Endings() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endings
}

// noteEnded keeps the error for TakeEnded. Of nested calls, the innermost one is noted first and kept.
func (c *Calls) noteEnded(pod *v1.Pod, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endings++
	if pod == nil {
		return
	}
	if c.ended == nil {
		c.ended = map[types.UID]error{}
	}
	if c.ended[pod.UID] == nil {
		c.ended[pod.UID] = err
	}
}

// callRecord is where one goroutine at a time notes which plugin it calls.
type callRecord struct {
	mu   sync.Mutex
	call Call // without the plugin; guarded by mu
	// plugin is the one that is called, or nil between calls.
	plugin atomic.Pointer[identity]
}

// begin returns a record for consecutive calls; it must be given back with end.
func (c *Calls) begin(method Method, pod *v1.Pod) *callRecord {
	c.mu.Lock()
	var record *callRecord
	if last := len(c.free) - 1; last >= 0 {
		record = c.free[last]
		c.free = c.free[:last]
	} else {
		record = &callRecord{}
		c.all = append(c.all, record)
	}
	c.serial++
	serial := c.serial
	c.mu.Unlock()
	record.mu.Lock()
	record.call = Call{Method: method, Pod: pod, serial: serial}
	record.mu.Unlock()
	return record
}

func (c *Calls) end(record *callRecord) {
	record.plugin.Store(nil)
	c.mu.Lock()
	c.free = append(c.free, record)
	c.mu.Unlock()
}

// look returns the call, without a plugin if there is none.
func (r *callRecord) look() Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	call, plugin := r.call, r.plugin.Load()
	if plugin != nil {
		call.Plugin, call.outOfTree = plugin.name, plugin.outOfTree
	}
	return call
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

// bufferSize is how many measurements wait to be recorded at most, and how many are recorded at a time.
const bufferSize = 1000

// buffer takes measurements from where time is precious, to be recorded later. What does not fit in is dropped.
type buffer chan measurement

type measurement struct {
	of     *histograms
	values labels
	value  float64
}

func (b buffer) add(m measurement) {
	select {
	case b <- m:
	default:
	}
}

// record records what is in the buffer. Only one goroutine may call it.
func (b buffer) record() {
	for range len(b) {
		m := <-b
		m.of.observe(m.values, m.value)
	}
}

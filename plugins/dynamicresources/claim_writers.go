// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// claimWriters lets one pod at a time write a claim. It is safe for concurrent use, and its zero value is ready.
type claimWriters struct {
	mu sync.Mutex
	// writers has the claims that are being written or about to be; guarded by mu.
	writers map[types.UID]*claimWriter
}

type claimWriter struct {
	// turn is full while a pod writes the claim.
	turn chan struct{}
	// pods is how many write it or wait for their turn.
	pods int
}

// begin waits until no other pod writes the claim, and returns what ends the turn. It fails when the context ends before.
func (w *claimWriters) begin(ctx context.Context, claim types.UID) (end func(), err error) {
	writer := w.join(claim)
	select {
	case writer.turn <- struct{}{}:
		return func() {
			<-writer.turn
			w.leave(claim, writer)
		}, nil
	case <-ctx.Done():
		w.leave(claim, writer)
		return nil, context.Cause(ctx)
	}
}

func (w *claimWriters) join(claim types.UID) *claimWriter {
	w.mu.Lock()
	defer w.mu.Unlock()
	writer := w.writers[claim]
	if writer == nil {
		if w.writers == nil {
			w.writers = map[types.UID]*claimWriter{}
		}
		writer = &claimWriter{turn: make(chan struct{}, 1)}
		w.writers[claim] = writer
	}
	writer.pods++
	return writer
}

func (w *claimWriters) leave(claim types.UID, writer *claimWriter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if writer.pods--; writer.pods == 0 {
		delete(w.writers, claim)
	}
}

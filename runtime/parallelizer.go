// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"
	"math"
	goruntime "runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"
)

// defaultParallelism is the number of goroutines that loops over nodes use when the options don't say.
const defaultParallelism = 16

var _ fwk.Parallelizer = &Parallelizer{}

// Parallelizer spreads a loop over a limited number of goroutines. With a parallelism of one there is no goroutine:
// the loop runs in order in the caller's, which makes a simulation come out the same every time. It is safe for
// concurrent use; the limit is that of one loop.
type Parallelizer struct {
	parallelism int
	metrics     Metrics
}

// NewParallelizer returns a parallelizer for loops of at most parallelism goroutines; zero and less mean
// 16. The metrics may be nil.
func NewParallelizer(parallelism int, metrics Metrics) *Parallelizer {
	if parallelism <= 0 {
		parallelism = defaultParallelism
	}
	return &Parallelizer{parallelism: parallelism, metrics: metrics}
}

// Until implements fwk.Parallelizer: it calls work for every piece from 0 to pieces-1 and returns when all calls have.
// No further piece is begun once ctx is done. A panic in a piece is raised again in the caller's goroutine, where the
// framework turns it into the failure of a pod. A piece that ends its goroutine (runtime.Goexit) ends that of the caller
// too, once no piece runs any more.
func (p *Parallelizer) Until(ctx context.Context, pieces int, work workqueue.DoWorkPieceFunc, operation string) {
	if pieces <= 0 {
		return
	}
	size := p.chunkSize(pieces)
	chunks := (pieces + size - 1) / size
	workers := min(p.parallelism, chunks)
	if p.metrics != nil {
		p.metrics.Goroutines(operation, workers)
		defer p.metrics.Goroutines(operation, -workers)
	}
	if p.parallelism == 1 {
		doPieces(ctx, 0, pieces, work)
		return
	}
	doChunks(workers, chunks, func(chunk int) {
		doPieces(ctx, chunk*size, min(pieces, (chunk+1)*size), work)
	})
}

// chunkSize is how many pieces a worker takes at a time: enough to keep the cost of taking them down, few enough that
// no worker is left with all the work.
func (p *Parallelizer) chunkSize(pieces int) int {
	size := min(int(math.Sqrt(float64(pieces))), pieces/p.parallelism+1)
	return max(size, 1)
}

func doPieces(ctx context.Context, from, to int, work workqueue.DoWorkPieceFunc) {
	for piece := from; piece < to && ctx.Err() == nil; piece++ {
		work(piece)
	}
}

// doChunks calls do for every chunk from the given number of goroutines.
func doChunks(workers, chunks int, do func(chunk int)) {
	var (
		group    sync.WaitGroup
		next     atomic.Int64
		panicked atomic.Pointer[workerPanic]
		exited   atomic.Bool
	)
	work := func() {
		finished := false
		defer func() {
			if value := recover(); value != nil {
				panicked.CompareAndSwap(nil, asWorkerPanic(value))
			} else if !finished {
				exited.Store(true)
			}
		}()
		for panicked.Load() == nil && !exited.Load() {
			chunk := int(next.Add(1)) - 1
			if chunk >= chunks {
				break
			}
			do(chunk)
		}
		finished = true
	}
	for range workers - 1 {
		group.Go(work)
	}
	func() {
		defer group.Wait() // also where the piece of the caller ends the goroutine
		work()             // the caller has nothing better to do
	}()
	if value := panicked.Load(); value != nil {
		panic(value)
	}
	if exited.Load() {
		goruntime.Goexit()
	}
}

// workerPanic carries a panic, and where it happened, from a worker's goroutine to the caller's.
type workerPanic struct {
	value any
	pcs   []uintptr
	stack []byte
}

// asWorkerPanic keeps what a loop within the loop has caught already.
func asWorkerPanic(value any) *workerPanic {
	if caught, ok := value.(*workerPanic); ok {
		return caught
	}
	return &workerPanic{value: value, pcs: callers(), stack: debug.Stack()}
}

// Error implements error, for a panic that is not recovered.
func (p *workerPanic) Error() string {
	return fmt.Sprintf("%v\n\n%s", p.value, p.stack)
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rouse-scheduler/rouse/simulate"
)

// progressDelay is how long a simulation may take before its progress is shown.
const progressDelay = time.Second

// progressBar is a line of a terminal that shows how far a simulation is.
type progressBar struct {
	w     io.Writer
	width int // of the terminal; zero does not limit the line
	start time.Time
	drawn bool
}

// update draws the line again.
func (b *progressBar) update(now time.Time, progress simulate.Progress) {
	if now.Sub(b.start) < progressDelay {
		return
	}
	const cells = 24
	filled := int(share(progress) * cells)
	line := fmt.Sprintf("[%s%s] %3.0f%%  %d bound  %d waiting  %d attempts  at %s",
		strings.Repeat("=", filled), strings.Repeat(" ", cells-filled), share(progress)*100,
		progress.Bound, progress.Pending, progress.Attempts, progress.Now)
	if b.width > 0 && len(line) >= b.width {
		line = line[:b.width-1]
	}
	fmt.Fprintf(b.w, "\r\x1b[K%s", line)
	b.drawn = true
}

// clear takes the line away.
func (b *progressBar) clear() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
	b.drawn = false
}

// share is how much of a simulation is done: of the steps of its scenarios or, without any, of its pods.
func share(progress simulate.Progress) float64 {
	switch {
	case progress.Total > 0:
		return float64(progress.Done) / float64(progress.Total)
	case progress.Bound+progress.Pending > 0:
		return float64(progress.Bound) / float64(progress.Bound+progress.Pending)
	default:
		return 1
	}
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

// Recorder is what the tests tell what happens.
type Recorder = recorder

// Recorder returns what [Metrics.Attach] attaches.
func (m *Metrics) Recorder() *Recorder { return m.recorder }

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/inspect"
)

// Explain returns everything that is in the way of a pod, node by node, as rouse explain pod shows it: what every plugin says, also
// those that do not get to speak because another one rejects the pod before, with amounts and names where they are known. It takes
// longer than [Cluster.Fits]. See there for which pods can be asked about.
func (c *Cluster) Explain(ctx context.Context, pod *v1.Pod) (*inspect.Blockers, error) {
	var blockers inspect.Blockers
	err := c.askAbout(ctx, "explaining what is in the way of pod %s", pod, func(q *question) error {
		nodes, err := q.snapshot.List()
		if err == nil {
			blockers = inspect.FindBlockers(ctx, c.engine.options.Configuration, q.profile, q.pod, nodes)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &blockers, nil
}

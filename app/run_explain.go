// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rouse-scheduler/rouse/inspect"
)

// Explain implements serving.Explainer. Only a process that schedules knows why pods wait.
func (p *process) Explain(ctx context.Context, namespace, name string, nodes int) (*inspect.Explanation, error) {
	switch leader := p.leader.Load(); {
	case !p.leading.Load() && leader != nil:
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("this replica is not the leader; ask the leader, %s", *leader))
	case !p.leading.Load():
		return nil, apierrors.NewServiceUnavailable("this process does not schedule yet; try again in a moment")
	case !p.caches.full.Load():
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("the informers of the scheduler have not synced yet: %v; try again in a moment", p.waitingFor()))
	}
	explanation, err := p.explainer.Explain(ctx, namespace, name, nodes)
	var missing *inspect.NoSuchPodError
	if errors.As(err, &missing) {
		return nil, fmt.Errorf("%w%s", err, suggestion(missing))
	}
	return explanation, err
}

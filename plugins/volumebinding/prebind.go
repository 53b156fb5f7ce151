// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

// PreBindPreFlight implements fwk.PreBindPlugin. PreBind is skipped for a pod whose claims are all bound.
func (pl *plugin) PreBindPreFlight(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeName string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	p, err := reservedPlan(state, nodeName)
	switch {
	case err != nil:
		return nil, fwk.AsStatus(err)
	case p == nil:
		return &fwk.PreBindPreFlightResult{AllowParallel: true}, fwk.NewStatus(fwk.Skip)
	}
	return &fwk.PreBindPreFlightResult{AllowParallel: true}, nil
}

// PreBind implements fwk.PreBindPlugin: it writes the plan to the API server and waits until all claims are bound. If
// they are as soon as they are written, it does not wait at all. A failure does not undo what is written already; the
// pod finds it at its next attempt.
func (pl *plugin) PreBind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	p, err := reservedPlan(state, nodeName)
	if err == nil && p != nil {
		if err = pl.bindVolumes(ctx, p, pod, nodeName); err != nil {
			pl.metrics.StageFailed(stagePreBind)
		}
	}
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("binding volumes: %w", err))
	}
	return nil
}

// reservedPlan returns the plan for the node that Reserve was called for; nil if there is nothing to do.
func reservedPlan(state fwk.CycleState, nodeName string) (*plan, error) {
	ofPod, err := statedata.Read[*podState](state, stateKey)
	if err != nil {
		return nil, err
	}
	if ofPod.isAllBound() {
		return nil, nil
	}
	p := ofPod.planFor(nodeName)
	if p == nil {
		return nil, fmt.Errorf("no pod volume found for node %q", nodeName)
	}
	return p, nil
}

func (pl *plugin) bindVolumes(ctx context.Context, p *plan, pod *v1.Pod, nodeName string) error {
	if err := pl.write(ctx, p); err != nil {
		return err
	}
	logger := klog.FromContext(ctx)
	return pl.waiter.wait(ctx, func() (bool, error) { return pl.bindingComplete(logger, p, pod, nodeName) })
}

// write updates the volumes and claims of a plan, and puts what the API server made of them into the plan. If it fails,
// what is not written is no longer assumed.
func (pl *plugin) write(ctx context.Context, p *plan) error {
	rest := plan{bindings: p.bindings, provisions: p.provisions}
	for i := range p.bindings {
		b := &p.bindings[i]
		volume, err := pl.client.CoreV1().PersistentVolumes().Update(ctx, b.volume, metav1.UpdateOptions{})
		if err != nil {
			pl.restore(&rest)
			return fmt.Errorf("binding persistentvolume %q to claim %q: %w", b.volume.Name, claimKey(b.claim), err)
		}
		b.volume, rest.bindings = volume, p.bindings[i+1:]
	}
	for i := range p.provisions {
		made := &p.provisions[i]
		claim, err := pl.client.CoreV1().PersistentVolumeClaims(made.claim.Namespace).Update(ctx, made.claim, metav1.UpdateOptions{})
		if err != nil {
			pl.restore(&rest)
			return fmt.Errorf("requesting a volume for claim %q: %w", claimKey(made.claim), err)
		}
		made.claim, rest.provisions = claim, p.provisions[i+1:]
	}
	return nil
}

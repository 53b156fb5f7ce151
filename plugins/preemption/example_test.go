// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/preemption"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// tenants is a plugin that preempts within a namespace only, and never for pods of the namespace "guests".
type tenants struct {
	evaluator *preemption.Evaluator
}

func newTenants(handle fwk.Handle) (*tenants, error) {
	hooks := &tenantHooks{preemption.NewDefaultHooks(preemption.HooksOptions{
		Handle:        handle,
		IsEligiblePod: sameNamespace,
	})}
	evaluator, err := preemption.NewEvaluator(preemption.Options{PluginName: "Tenants", Handle: handle, Hooks: hooks})
	return &tenants{evaluator}, err
}

// PostFilter implements fwk.PostFilterPlugin.
func (t *tenants) PostFilter(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, statuses fwk.NodeToStatusReader,
) (*fwk.PostFilterResult, *fwk.Status) {
	return t.evaluator.Preempt(ctx, state, pod, statuses)
}

// PreEnqueue implements fwk.PreEnqueuePlugin.
func (t *tenants) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if t.evaluator.Preempting(pod) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "victims are being evicted")
	}
	return nil
}

func sameNamespace(_ fwk.NodeInfo, victim fwk.PodInfo, preemptor *v1.Pod) bool {
	return victim.GetPod().Namespace == preemptor.Namespace
}

// tenantHooks are the default hooks but for one.
type tenantHooks struct {
	*preemption.DefaultHooks
}

// PodEligibleToPreemptOthers implements preemption.Hooks.
func (h *tenantHooks) PodEligibleToPreemptOthers(ctx context.Context, pod *v1.Pod, nominated *fwk.Status) (bool, string) {
	if pod.Namespace == "guests" {
		return false, "guests wait for their turn"
	}
	return h.DefaultHooks.PodEligibleToPreemptOthers(ctx, pod, nominated)
}

func ExampleHooks() {
	hooks := &tenantHooks{preemption.NewDefaultHooks(preemption.HooksOptions{IsEligiblePod: sameNamespace})}
	for _, namespace := range []string{"guests", "residents"} {
		pod := objects.Pod("web").Namespace(namespace).Priority(1000).Build()
		eligible, reason := hooks.PodEligibleToPreemptOthers(context.Background(), pod, nil)
		fmt.Printf("%s %t %q\n", namespace, eligible, reason)
	}
	_, candidates := hooks.GetOffsetAndNumCandidates(5000)
	fmt.Println("candidates that are enough, of 5000 nodes:", candidates)

	// The plugin itself needs the handle of a framework.
	_, err := newTenants(nil)
	fmt.Println("without a handle:", err != nil)

	// Output:
	// guests false "guests wait for their turn"
	// residents true ""
	// candidates that are enough, of 5000 nodes: 500
	// without a handle: true
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// ProcessPreemption implements fwk.Extender: it returns the nodes that the extender leaves, with the pods that it wants
// evicted there. A node for which it names no pods has nil. It is an error if the extender has no say in preemption.
func (e *Extender) ProcessPreemption(
	pod *v1.Pod, victims map[string]*extenderv1.Victims, nodes fwk.NodeInfoLister,
) (map[string]*extenderv1.Victims, error) {
	if !e.SupportsPreemption() {
		return nil, fmt.Errorf("extender %s has no preemptVerb, so it takes no part in the preemption for pod %s/%s",
			e.Name(), pod.Namespace, pod.Name)
	}
	arguments := &extenderv1.ExtenderPreemptionArgs{Pod: pod}
	if e.settings.NodeCacheCapable {
		arguments.NodeNameToMetaVictims = identify(victims)
	} else {
		arguments.NodeNameToVictims = victims
	}
	result, err := call[extenderv1.ExtenderPreemptionResult](e, e.settings.PreemptVerb, arguments)
	if err != nil {
		return nil, err
	}
	chosen := make(map[string]*extenderv1.Victims, len(result.NodeNameToMetaVictims))
	for node, meta := range result.NodeNameToMetaVictims {
		if chosen[node], err = e.resolve(node, meta, nodes); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

// identify reduces victims to their UIDs.
func identify(victims map[string]*extenderv1.Victims) map[string]*extenderv1.MetaVictims {
	identified := make(map[string]*extenderv1.MetaVictims, len(victims))
	for node, found := range victims {
		meta := &extenderv1.MetaVictims{NumPDBViolations: found.NumPDBViolations}
		for _, pod := range found.Pods {
			meta.Pods = append(meta.Pods, &extenderv1.MetaPod{UID: string(pod.UID)})
		}
		identified[node] = meta
	}
	return identified
}

// resolve finds the pods that an extender names by UID on a node.
func (e *Extender) resolve(name string, meta *extenderv1.MetaVictims, nodes fwk.NodeInfoLister) (*extenderv1.Victims, error) {
	if meta == nil {
		return nil, nil
	}
	node, err := nodes.Get(name)
	if err != nil {
		return nil, fmt.Errorf("extender: %s claims to preempt pods on node: %s, but there is no such node: %w", e.Name(), name, err)
	}
	byUID := make(map[string]*v1.Pod, len(node.GetPods()))
	for _, pod := range node.GetPods() {
		byUID[string(pod.GetPod().UID)] = pod.GetPod()
	}
	victims := &extenderv1.Victims{NumPDBViolations: meta.NumPDBViolations}
	for _, named := range meta.Pods {
		if named == nil {
			return nil, fmt.Errorf("extender: %s claims to preempt a pod without a UID on node: %s", e.Name(), name)
		}
		pod := byUID[named.UID]
		if pod == nil {
			return nil, fmt.Errorf("extender: %s claims to preempt pod (UID: %s) on node: %s, but the pod is not found on that node",
				e.Name(), named.UID, name)
		}
		victims.Pods = append(victims.Pods, pod)
	}
	return victims, nil
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"context"
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
)

const (
	reasonOwnConstraints     = "pods with topology constraints are not signable"
	reasonDefaultConstraints = "pods with default topology constraints are not signable"
)

// SignPod implements fwk.SignPlugin. A pod that constraints may apply to is refused: how many pods there are in a domain
// changes with every pod that is placed. To other pods the plugin does nothing, and there is nothing to sign.
func (pl *plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if len(pod.Spec.TopologySpreadConstraints) > 0 {
		return nil, fwk.NewStatus(fwk.Unschedulable, reasonOwnConstraints)
	}
	if len(pl.defaults) > 0 {
		return nil, fwk.NewStatus(fwk.Unschedulable, reasonDefaultConstraints)
	}
	return nil, nil
}

// hintClass is what hints read of a pod. Which selector a default constraint gets is not in it, since services and
// controllers change while the pod waits, but what the selector is made from.
type hintClass struct {
	Namespace   string
	Constraints []hintConstraint       `json:",omitempty"`
	Labels      map[string]string      `json:",omitempty"`
	Controller  *metav1.OwnerReference `json:",omitempty"`

	// NodeSelector and NodeAffinity are what the pod requires of nodes.
	NodeSelector map[string]string `json:",omitempty"`
	NodeAffinity *v1.NodeSelector  `json:",omitempty"`
}

type hintConstraint struct {
	TopologyKey string
	Selector    *metav1.LabelSelector
	OwnValues   labels.Set `json:",omitempty"`
	HonorTaints bool       `json:",omitempty"`
	AnyNode     bool       `json:",omitempty"`
}

// HintClass implements framework.HintClassPlugin: pods of a namespace are alike if their own hard constraints have the
// same topology keys, selectors and policies; if they have none at all and the profile has some, if they have the same
// labels and the same controller. They also have to require the same of nodes.
func (pl *plugin) HintClass(pod *v1.Pod) (class string, ok bool) {
	alike := hintClass{Namespace: pod.Namespace}
	for i := range pod.Spec.TopologySpreadConstraints {
		written := &pod.Spec.TopologySpreadConstraints[i]
		if written.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		alike.Constraints = append(alike.Constraints, hintConstraint{
			TopologyKey: written.TopologyKey,
			Selector:    written.LabelSelector,
			OwnValues:   ownValues(written.MatchLabelKeys, pod),
			HonorTaints: honorsTaints(written),
			AnyNode:     !honorsAffinity(written),
		})
	}
	if len(pod.Spec.TopologySpreadConstraints) == 0 && hasAction(pl.defaults, v1.DoNotSchedule) {
		alike.Labels, alike.Controller = pod.Labels, metav1.GetControllerOfNoCopy(pod)
	}
	if len(alike.Constraints) > 0 || alike.Labels != nil || alike.Controller != nil {
		alike.NodeSelector, alike.NodeAffinity = pod.Spec.NodeSelector, requiredNodeAffinity(pod)
	}
	written, err := json.Marshal(alike)
	return string(written), err == nil
}

func requiredNodeAffinity(pod *v1.Pod) *v1.NodeSelector {
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		return affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

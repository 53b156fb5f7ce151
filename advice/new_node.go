// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresource "k8s.io/component-helpers/resource"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugins/nodeaffinity"
	"github.com/rouse-scheduler/rouse/plugins/volumebinding"
	"github.com/rouse-scheduler/rouse/plugins/volumezone"
)

// newNode adds an empty node like another one, with the labels and the resources that the pod asks for.
func (v *view) newNode(like *v1.Node, blockers []inspect.Blocker) *change {
	const name = "another-node"
	added := like.DeepCopy()
	added.Name, added.UID, added.ResourceVersion = name, "", ""
	added.Spec.Unschedulable = false
	added.Spec.Taints = slices.DeleteFunc(added.Spec.Taints, func(t v1.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") })
	if added.Labels[v1.LabelHostname] != "" {
		added.Labels[v1.LabelHostname] = name
	}
	with := append(v.enlarge(added), v.relabel(added, blockers)...)
	text := "add another node like " + like.Name
	if len(with) > 0 {
		text += ", with " + strings.Join(with, " and ")
	}
	return &change{
		Change: ofNode(inspect.ChangeAddNode, like.Name, "", "", text),
		rank:   rankOfNewNode,
		apply: func(t target) error {
			if err := t.Add(added); err != nil {
				return err
			}
			if known := v.csiNodes[like.Name]; known != nil {
				drivers := known.DeepCopy()
				drivers.Name, drivers.UID, drivers.ResourceVersion = name, "", ""
				return t.Add(drivers)
			}
			return nil
		},
	}
}

// enlarge gives a node as much of each resource as the pod asks for, and says of which.
func (v *view) enlarge(node *v1.Node) (with []string) {
	asked := podresource.PodRequests(v.pod, podresource.PodResourcesOptions{})
	offered := framework.NewResource(node.Status.Allocatable)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		amount := framework.AmountOf(framework.NewResource(asked), name)
		if amount > framework.AmountOf(offered, name) {
			setAmount(&node.Status.Allocatable, name, asked[name])
			setAmount(&node.Status.Capacity, name, asked[name])
			with = append(with, inspect.Amount(string(name), amount)+" "+string(name))
		}
	}
	return with
}

// relabel gives a node the labels that plugins which reject the pod ask for, and says which.
func (v *view) relabel(node *v1.Node, blockers []inspect.Blocker) (with []string) {
	for i := range blockers {
		propose := map[string]func(*v1.Node, []string) []fix{
			nodeaffinity.Name: v.labels, volumebinding.Name: v.storage, volumezone.Name: v.zone,
		}[blockers[i].Plugin]
		if propose == nil {
			continue
		}
		blank := node.DeepCopy()
		maps.DeleteFunc(blank.Labels, func(key, _ string) bool { return belongsToKubernetes(key) })
		fixes := propose(blank, nil)
		for _, fix := range fixes[:min(len(fixes), 1)] {
			for _, c := range fix {
				switch c.Action {
				case inspect.ChangeSetLabel:
					if node.Labels[c.Key] == c.Value {
						continue
					}
					metav1.SetMetaDataLabel(&node.ObjectMeta, c.Key, c.Value)
					with = append(with, fmt.Sprintf("label %s=%s", c.Key, c.Value))
				case inspect.ChangeRemoveLabel:
					delete(node.Labels, c.Key)
					with = append(with, "no label "+c.Key)
				}
			}
		}
	}
	return with
}

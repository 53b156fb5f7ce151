// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	upstreamframework "k8s.io/kubernetes/pkg/scheduler/framework"
)

// layer is a snapshot of nodes with their pods: what differs from the layer below. The layers below don't change.
type layer struct {
	below *layer
	// nodes are all nodes, and places where each is; both are those of the layer below until a node changes, or comes.
	nodes  []fwk.NodeInfo
	places map[string]int
	// own are the nodes of this layer, which may be changed; ownPlaces is true if places may be, too.
	own       map[string]bool
	ownPlaces bool
}

// newLayer returns a layer with the nodes and pods of the objects, and the other objects.
func newLayer(objects []apiruntime.Object) (bottom *layer, others []apiruntime.Object, err error) {
	bottom = &layer{places: map[string]int{}, ownPlaces: true, own: map[string]bool{}}
	for _, object := range objects {
		switch object := object.(type) {
		case *v1.Node:
			bottom.addNode(object)
		case *v1.Pod:
			if err := bottom.addPod(object, object.Spec.NodeName); err != nil {
				return nil, nil, err
			}
		default:
			others = append(others, object)
		}
	}
	return bottom, others, nil
}

// begin has the layer have lists of its own.
func (l *layer) begin() {
	if l.own == nil {
		all, places := l.view()
		l.nodes, l.places, l.own = slices.Clone(all), places, map[string]bool{}
	}
}

// view returns the nodes of the layer and their places.
func (l *layer) view() ([]fwk.NodeInfo, map[string]int) {
	for l.own == nil {
		l = l.below
	}
	return l.nodes, l.places
}

func (l *layer) addNode(node *v1.Node) {
	l.begin()
	info := upstreamframework.NewNodeInfo()
	info.SetNode(node)
	if !l.ownPlaces {
		l.places, l.ownPlaces = maps.Clone(l.places), true
	}
	l.places[node.Name] = len(l.nodes)
	l.nodes = append(l.nodes, info)
	l.own[node.Name] = true
}

// change returns a node that may be changed.
func (l *layer) change(name string) (fwk.NodeInfo, error) {
	l.begin()
	place, found := l.places[name]
	if !found {
		return nil, fmt.Errorf("there is no node %q", name)
	}
	if !l.own[name] {
		l.nodes[place], l.own[name] = l.nodes[place].Snapshot(), true
	}
	return l.nodes[place], nil
}

func (l *layer) addPod(pod *v1.Pod, name string) error {
	node, err := l.change(name)
	if err != nil {
		return err
	}
	placed := *pod
	placed.Spec.NodeName = name
	info, err := upstreamframework.NewPodInfo(&placed)
	if err != nil {
		return err
	}
	node.AddPodInfo(info)
	return nil
}

func (l *layer) removePod(pod *v1.Pod) error {
	node, err := l.change(pod.Spec.NodeName)
	if err != nil {
		return err
	}
	return node.RemovePod(klog.Logger{}, pod)
}

// List, Get and the others implement fwk.NodeInfoLister.
func (l *layer) List() ([]fwk.NodeInfo, error) {
	nodes, _ := l.view()
	return nodes, nil
}

// Get implements fwk.NodeInfoLister.
func (l *layer) Get(name string) (fwk.NodeInfo, error) {
	nodes, places := l.view()
	place, found := places[name]
	if !found {
		return nil, fmt.Errorf("there is no node %q", name)
	}
	return nodes[place], nil
}

// HavePodsWithAffinityList implements fwk.NodeInfoLister.
func (l *layer) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return l.those(func(node fwk.NodeInfo) bool { return len(node.GetPodsWithAffinity()) > 0 }), nil
}

// HavePodsWithRequiredAntiAffinityList implements fwk.NodeInfoLister.
func (l *layer) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.those(func(node fwk.NodeInfo) bool { return len(node.GetPodsWithRequiredAntiAffinity()) > 0 }), nil
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList implements fwk.NodeInfoLister.
func (l *layer) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.those(func(node fwk.NodeInfo) bool { return len(node.GetPodsWithRequiredNonHostScopedAntiAffinity()) > 0 }), nil
}

func (l *layer) those(have func(fwk.NodeInfo) bool) (those []fwk.NodeInfo) {
	nodes, _ := l.view()
	for _, node := range nodes {
		if have(node) {
			those = append(those, node)
		}
	}
	return those
}

// IsPVCUsedByPods implements fwk.StorageInfoLister. No pod of these clusters uses a claim.
func (l *layer) IsPVCUsedByPods(string) bool { return false }

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"

	"github.com/rouse-scheduler/rouse/test/bench/objects"
)

// A row of volumes makes decisions, as those in decisions.go, about pods with a claim each. Ten pods later the volume of a
// pod is bound, where it was not before, and attached to the node, and the schedulers hear of that.

// volumeCase is a row of volumes, for every number of nodes.
type volumeCase struct {
	shape objects.VolumeShape
	nodes []int
	// attached is how many pods with a volume each node has before.
	attached  int
	quickUpTo int // the largest number of nodes that is measured without -full
}

func volumeCases() []volumeCase {
	sizes := []int{1_000, 5_000, 50_000}
	return []volumeCase{
		{shape: objects.Waiting, nodes: sizes, quickUpTo: 5_000},
		{shape: objects.Zonal, nodes: sizes, quickUpTo: 5_000},
		{shape: objects.Attached, nodes: []int{1_000, 5_000}, attached: 25},
		{shape: objects.Local, nodes: []int{1_000, 5_000}},
	}
}

func volumeGroups() []group {
	var groups []group
	for _, c := range volumeCases() {
		for _, nodes := range c.nodes {
			groups = append(groups, group{work: []work{c.work(nodes)}})
		}
	}
	return groups
}

func (c *volumeCase) work(nodes int) work {
	run := func(build newVolumeDecider) func(context.Context, *meter) (Sample, error) {
		return func(ctx context.Context, m *meter) (Sample, error) {
			pods := warmUpPods + decisionsPerRun*m.times()
			if c.shape == objects.Local {
				pods = min(pods, nodes)
			}
			cluster := c.cluster(nodes, pods)
			d, err := build(ctx, cluster)
			if err != nil {
				return nil, err
			}
			defer d.close()
			return cluster.measure(ctx, m, d)
		}
	}
	name := string(c.shape)
	if c.attached > 0 {
		name = fmt.Sprintf("%s, %d volumes a node", name, c.attached)
	}
	return work{
		Row: Row{Workload: "volumes", Case: name, Size: nodes, Unit: "nodes", Metric: WallNanos, Target: 5},
		runs: map[Contender]func(context.Context, *meter) (Sample, error){
			Rouse: run(newRouseForVolumes), KubeScheduler: run(newKubeSchedulerForVolumes),
		},
		quick: nodes <= c.quickUpTo,
	}
}

// volumeCluster is what there is before the first decision, and what each pod has to do with.
type volumeCluster struct {
	shape    objects.VolumeShape
	nodes    []*v1.Node
	csiNodes []*storagev1.CSINode
	// pods are to be placed, each with the claim of its number; placed have a node already.
	pods, placed []*v1.Pod
	claims       []*v1.PersistentVolumeClaim
	volumes      []*v1.PersistentVolume
	attachments  []*storagev1.VolumeAttachment

	claimInformer, volumeInformer, attachmentInformer *watched
}

func (c *volumeCase) cluster(nodes, pods int) *volumeCluster {
	made := &volumeCluster{shape: c.shape, nodes: objects.Nodes(nodes, basic)}
	for i, node := range made.nodes {
		made.csiNodes = append(made.csiNodes, objects.CSINode(i))
		if c.shape == objects.Local {
			made.volumes = append(made.volumes, objects.Volume("local-"+node.Name, c.shape, "", node.Name, nil))
		}
	}
	for i := range pods {
		name := fmt.Sprintf("data-%06d", i)
		claim := objects.Claim(name)
		if c.shape == objects.Zonal || c.shape == objects.Attached {
			volume := objects.Volume("volume-"+name, c.shape, fmt.Sprintf("zone-%d", i%objects.Zones), "", claim)
			made.volumes, claim = append(made.volumes, volume), objects.Bound(claim, volume.Name)
		}
		made.claims = append(made.claims, claim)
		made.pods = append(made.pods, objects.PodWithVolume(fmt.Sprintf("pod-%06d", i), name))
	}
	for i := range c.attached * nodes {
		made.addPlaced(i, made.nodes[i%nodes].Name)
	}
	return made
}

// addPlaced adds a pod that has a node, and a volume that is attached to it.
func (c *volumeCluster) addPlaced(i int, node string) {
	name := fmt.Sprintf("placed-%06d", i)
	claim := objects.Claim(name)
	volume := objects.Volume("volume-"+name, c.shape, "", "", claim)
	pod := objects.PodWithVolume(name, name)
	pod.Spec.NodeName = node
	c.claims, c.volumes, c.placed = append(c.claims, objects.Bound(claim, volume.Name)), append(c.volumes, volume), append(c.placed, pod)
	c.attachments = append(c.attachments, objects.Attachment(volume.Name, node))
}

type newVolumeDecider func(context.Context, *volumeCluster) (decider, error)

// podsUntilBound is how many pods get a node before the volume of a pod is bound and attached.
const podsUntilBound = 10

func (c *volumeCluster) measure(ctx context.Context, m *meter, d decider) (Sample, error) {
	if err := d.addNodes(c.nodes); err != nil {
		return nil, fmt.Errorf("adding nodes: %w", err)
	}
	for _, pod := range c.placed {
		if err := d.addPod(pod); err != nil {
			return nil, fmt.Errorf("adding pod %s: %w", pod.Name, err)
		}
	}
	for _, pod := range c.pods {
		d.enqueue(ctx, pod)
	}
	decided := 0
	decide := func() error {
		if err := d.decide(ctx); err != nil {
			return err
		}
		decided++
		if i := decided - podsUntilBound; i >= 0 && c.shape != objects.Local {
			return c.bind(i, d)
		}
		return nil
	}
	return measureEach(m, warmUpPods, len(c.pods), decide)
}

// bind has the claim of a pod bound, and its volume attached to the node of the pod.
func (c *volumeCluster) bind(i int, d decider) error {
	node, err := d.nodeOf(c.pods[i])
	if err != nil {
		return err
	}
	claim := c.claims[i]
	if claim.Spec.VolumeName == "" {
		index := 0
		if _, err := fmt.Sscanf(node, "node-%d", &index); err != nil {
			return fmt.Errorf("reading the number of node %q: %w", node, err)
		}
		volume := objects.Volume("volume-"+claim.Name, c.shape, c.nodes[index].Labels[v1.LabelTopologyZone], "", claim)
		if err := c.volumeInformer.add(volume); err != nil {
			return err
		}
		bound := objects.Bound(claim, volume.Name)
		if err := c.claimInformer.update(claim, bound); err != nil {
			return err
		}
		claim = bound
	}
	return c.attachmentInformer.add(objects.Attachment(claim.Spec.VolumeName, node))
}

// informers has a factory deliver the objects, and returns what tells the handlers of them.
func (c *volumeCluster) informers(factory informers.SharedInformerFactory) (deliver func() error) {
	csiNodes, classes := newWatched(&storagev1.CSINode{}), newWatched(&storagev1.StorageClass{})
	c.claimInformer, c.volumeInformer = newWatched(&v1.PersistentVolumeClaim{}), newWatched(&v1.PersistentVolume{})
	c.attachmentInformer = newWatched(&storagev1.VolumeAttachment{})
	factory.InformerFor(&storagev1.CSINode{}, csiNodes.instead)
	factory.InformerFor(&storagev1.StorageClass{}, classes.instead)
	factory.InformerFor(&v1.PersistentVolumeClaim{}, c.claimInformer.instead)
	factory.InformerFor(&v1.PersistentVolume{}, c.volumeInformer.instead)
	factory.InformerFor(&storagev1.VolumeAttachment{}, c.attachmentInformer.instead)
	return func() error {
		return errors.Join(classes.add(objects.StorageClass(c.shape)), addAll(csiNodes, c.csiNodes), addAll(c.volumeInformer, c.volumes),
			addAll(c.claimInformer, c.claims), addAll(c.attachmentInformer, c.attachments))
	}
}

func newRouseForVolumes(ctx context.Context, cluster *volumeCluster) (decider, error) {
	return newRouseFor(ctx, cluster)
}

func newKubeSchedulerForVolumes(ctx context.Context, cluster *volumeCluster) (decider, error) {
	return newKubeSchedulerFor(ctx, cluster)
}

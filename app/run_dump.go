// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// dumper logs what a scheduler knows, and how that differs from what the informers say.
type dumper struct {
	logger    klog.Logger
	scheduler *scheduler.Scheduler
	informers informers.SharedInformerFactory
}

// start has the dump logged at every dump signal until the context ends.
func (d *dumper) start(ctx context.Context) {
	asked := dumpSignal()
	if asked == nil {
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, asked)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				d.dump()
			}
		}
	}()
}

func (d *dumper) dump() {
	known := d.scheduler.Cache().Dump()
	queued, summary := d.scheduler.Queue().PendingPods()
	d.compare(known, queued)
	d.logger.Info("Dump of cached NodeInfo", "nodes", nodesText(known, d.nominated))
	var pods strings.Builder
	for _, pod := range queued {
		writePod(&pods, pod)
	}
	d.logger.Info("Dump of scheduling queue", "summary", summary, "pods", pods.String())
}

func (d *dumper) compare(known cache.Dump, queued []*v1.Pod) {
	nodes, nodesErr := d.informers.Core().V1().Nodes().Lister().List(labels.Everything())
	pods, podsErr := d.informers.Core().V1().Pods().Lister().List(labels.Everything())
	if nodesErr != nil || podsErr != nil {
		d.logger.Error(nil, "Cannot list nodes and pods to compare the cache with", "nodesError", nodesErr, "podsError", podsErr)
		return
	}
	difference := known.Compare(nodes, pods, queued)
	if len(difference.MissedNodes)+len(difference.RedundantNodes) > 0 {
		d.logger.Info("Cache mismatch", "missedNodes", difference.MissedNodes, "redundantNodes", difference.RedundantNodes)
	}
	if len(difference.MissedPods)+len(difference.RedundantPods) > 0 {
		d.logger.Info("Cache mismatch", "missedPods", difference.MissedPods, "redundantPods", difference.RedundantPods)
	}
}

// nominated returns the pods that a node is nominated for.
func (d *dumper) nominated(node string) []*v1.Pod {
	var pods []*v1.Pod
	for _, info := range d.scheduler.Queue().NominatedPodsForNode(node) {
		pods = append(pods, info.GetPod())
	}
	return pods
}

// nodesText has a block for every node, with a blank line between them.
func nodesText(dump cache.Dump, nominated func(node string) []*v1.Pod) string {
	var blocks []string
	for _, node := range dump.Nodes {
		var block strings.Builder
		fmt.Fprintf(&block, "Node name: %s\nDeleted: %t\nRequested Resources: %s\nAllocatable Resources:%s\nScheduled Pods(number: %d):\n",
			node.Name, !node.HasNode, resourcesText(node.Requested), resourcesText(node.Allocatable), len(node.Pods))
		for _, pod := range node.Pods {
			fmt.Fprintf(&block, "name: %s, namespace: %s, uid: %s, phase: %s, nominated node: %s\n",
				pod.Name, pod.Namespace, pod.UID, pod.Phase, pod.NominatedNode)
		}
		if waiting := nominated(node.Name); len(waiting) > 0 {
			fmt.Fprintf(&block, "Nominated Pods(number: %d):\n", len(waiting))
			for _, pod := range waiting {
				writePod(&block, pod)
			}
		}
		blocks = append(blocks, block.String())
	}
	return strings.Join(blocks, "\n")
}

func resourcesText(r framework.Resource) string { return fmt.Sprintf("%+v", r) }

func writePod(w *strings.Builder, pod *v1.Pod) {
	fmt.Fprintf(w, "name: %s, namespace: %s, uid: %s, phase: %s, nominated node: %s\n",
		pod.Name, pod.Namespace, pod.UID, pod.Status.Phase, pod.Status.NominatedNodeName)
}

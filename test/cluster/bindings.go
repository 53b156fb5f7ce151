// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// BindingWatch follows the pods from the API alone, and notes where each one was bound.
type BindingWatch struct {
	tb testing.TB

	mu         sync.Mutex
	nodes      map[types.UID]string // of every pod ever seen bound
	violations []string             // what must not be: a pod whose node changed
}

// WatchBindings starts to follow the pods. It stops when the test ends.
func WatchBindings(ctx context.Context, tb testing.TB, client clientset.Interface) *BindingWatch {
	tb.Helper()
	watch := &BindingWatch{tb: tb, nodes: map[types.UID]string{}}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { watch.saw(object) },
		UpdateFunc: func(_, object any) { watch.saw(object) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	factory.Start(ctx.Done())
	tb.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(ctx.Done())
	return watch
}

func (w *BindingWatch) saw(object any) {
	pod, ok := object.(*v1.Pod)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before, bound := w.nodes[pod.UID]
	if bound && before != pod.Spec.NodeName {
		w.violations = append(w.violations, fmt.Sprintf("pod %s was on node %q, and is on %q", pod.Name, before, pod.Spec.NodeName))
	}
	if pod.Spec.NodeName != "" {
		w.nodes[pod.UID] = pod.Spec.NodeName
	}
}

// Bound returns how many pods have been seen bound.
func (w *BindingWatch) Bound() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.nodes)
}

// WaitBound waits until that many pods have been seen bound, and prints how it goes.
func (w *BindingWatch) WaitBound(ctx context.Context, count int, limit time.Duration) {
	w.tb.Helper()
	progress := NewProgress(w.tb)
	WaitFor(ctx, w.tb, limit, func() (bool, string) {
		bound := w.Bound()
		progress.Say("%d of %d pods bound", bound, count)
		return bound >= count, fmt.Sprintf("%d pods to be bound: %d are", count, bound)
	})
}

// Check fails the test unless every pod is bound, was never seen elsewhere, had one binding accepted according to the
// record, and is on a node that exists and has room for all its pods. The answers to bindings that were under way when
// an API server went down are in no record: then there may be less than one.
func (w *BindingWatch) Check(ctx context.Context, client clientset.Interface, record *Record, wentDown bool) {
	w.tb.Helper()
	w.mu.Lock()
	for _, violation := range w.violations {
		w.tb.Error(violation)
	}
	w.mu.Unlock()
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		w.tb.Fatalf("listing the pods: %v", err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		w.tb.Fatalf("listing the nodes: %v", err)
	}
	accepted := record.Bindings()
	onNode := map[string][]*v1.Pod{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Spec.NodeName == "" {
			w.tb.Errorf("pod %s is not bound", pod.Name)
		}
		times := accepted[pod.Namespace+"/"+pod.Name]
		if times > 1 || times == 0 && !wentDown {
			w.tb.Errorf("the API server accepted %d bindings of pod %s", times, pod.Name)
		}
		onNode[pod.Spec.NodeName] = append(onNode[pod.Spec.NodeName], pod)
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		for _, violation := range overCapacity(node, onNode[node.Name]) {
			w.tb.Error(violation)
		}
		delete(onNode, node.Name)
	}
	for name, lost := range onNode {
		w.tb.Errorf("%d pods, among them %s, are on node %q, which does not exist", len(lost), lost[0].Name, name)
	}
}

// overCapacity returns what the pods ask for beyond what the node has.
func overCapacity(node *v1.Node, pods []*v1.Pod) []string {
	used := v1.ResourceList{v1.ResourcePods: *resource.NewQuantity(int64(len(pods)), resource.DecimalSI)}
	for _, pod := range pods {
		for _, container := range pod.Spec.Containers {
			for name, quantity := range container.Resources.Requests {
				sum := used[name]
				sum.Add(quantity)
				used[name] = sum
			}
		}
	}
	var names, violations []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	for name, sum := range used {
		if name == servedResource {
			continue // by devices, whose use is looked at elsewhere
		}
		if has := node.Status.Allocatable[name]; sum.Cmp(has) > 0 {
			violations = append(violations, fmt.Sprintf("%s of node %s: the pods on it ask for %s, it has %s: %s",
				name, node.Name, &sum, &has, strings.Join(names, " ")))
		}
	}
	return violations
}

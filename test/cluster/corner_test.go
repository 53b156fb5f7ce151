// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// corner is the part of a cluster that one test of a wake-up uses: a namespace, and whatever nodes there are, which go
// when the test ends.
type corner struct {
	ctx           context.Context
	t             *testing.T
	client        clientset.Interface
	schedulerName string
	namespace     string
	// settle waits until the scheduler has seen what was done so far.
	settle func()
}

func newCorner(t *testing.T, client clientset.Interface, schedulerName string, number int) *corner {
	t.Helper()
	c := &corner{
		ctx: context.WithoutCancel(t.Context()), t: t, client: client, schedulerName: schedulerName,
		namespace: fmt.Sprintf("corner-%d", number),
	}
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace, Labels: map[string]string{"team": "none"}}}
	must(c, "namespace")(client.CoreV1().Namespaces().Create(c.ctx, namespace, metav1.CreateOptions{}))
	t.Cleanup(func() {
		now := int64(0)
		options := metav1.DeleteOptions{GracePeriodSeconds: &now}
		c.check("pods", client.CoreV1().Pods(c.namespace).DeleteCollection(c.ctx, options, metav1.ListOptions{}))
		c.check("slices", client.ResourceV1().ResourceSlices().DeleteCollection(c.ctx, options, metav1.ListOptions{}))
		c.check("classes", client.ResourceV1().DeviceClasses().DeleteCollection(c.ctx, options, metav1.ListOptions{}))
		c.check("rules", client.ResourceV1().DeviceTaintRules().DeleteCollection(c.ctx, options, metav1.ListOptions{}))
		c.check("nodes", client.CoreV1().Nodes().DeleteCollection(c.ctx, options, metav1.ListOptions{}))
	})
	return c
}

// must fails the test unless the object could be created.
func must(c *corner, what string) func(_ any, err error) {
	c.t.Helper()
	return func(_ any, err error) {
		c.t.Helper()
		c.check(what, err)
	}
}

func (c *corner) check(what string, err error) {
	c.t.Helper()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		c.t.Fatalf("%s: %v", what, err)
	}
}

// node creates a node with the hostname label and 4 CPUs, changed as the functions say.
func (c *corner) node(name string, change ...func(*v1.Node)) {
	c.t.Helper()
	node := MakeNode(0)
	node.Name = name
	node.Labels = map[string]string{v1.LabelHostname: name}
	for _, change := range change {
		change(node)
	}
	must(c, "node")(c.client.CoreV1().Nodes().Create(c.ctx, node, metav1.CreateOptions{}))
}

// changeNode changes a node; the status is a request of its own.
func (c *corner) changeNode(name string, change func(*v1.Node)) {
	c.t.Helper()
	nodes := c.client.CoreV1().Nodes()
	c.check("node", retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := nodes.Get(c.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if node.Labels == nil {
			node.Labels = map[string]string{}
		}
		change(node)
		status := node.Status
		if node, err = nodes.Update(c.ctx, node, metav1.UpdateOptions{}); err != nil {
			return err
		}
		node.Status = status
		_, err = nodes.UpdateStatus(c.ctx, node, metav1.UpdateOptions{})
		return err
	}))
}

// podOf makes a pod that the scheduler under test schedules, and that asks for a CPU.
func (c *corner) podOf(name string, change ...func(*v1.Pod)) *v1.Pod {
	pod := objects.Pod(name).Namespace(c.namespace).SchedulerName(c.schedulerName).Image("image").Requests("cpu", "1").Build()
	pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](0) // there is no kubelet to end it
	for _, change := range change {
		if change != nil {
			change(pod)
		}
	}
	return pod
}

// pod creates such a pod.
func (c *corner) pod(name string, change ...func(*v1.Pod)) {
	c.t.Helper()
	must(c, "pod")(c.client.CoreV1().Pods(c.namespace).Create(c.ctx, c.podOf(name, change...), metav1.CreateOptions{}))
}

// podOn creates a pod that is bound already, and not by the scheduler under test.
func (c *corner) podOn(node, name string, change ...func(*v1.Pod)) {
	c.t.Helper()
	c.pod(name, append(change, func(pod *v1.Pod) {
		pod.Spec.NodeName = node
		pod.Spec.SchedulerName = "someone-else"
	})...)
}

func (c *corner) changePod(name string, change func(*v1.Pod)) {
	c.t.Helper()
	pods := c.client.CoreV1().Pods(c.namespace)
	c.check("pod", retry.RetryOnConflict(retry.DefaultRetry, func() error {
		pod, err := pods.Get(c.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(pod)
		_, err = pods.Update(c.ctx, pod, metav1.UpdateOptions{})
		return err
	}))
}

// resizePod changes what a pod that exists asks for.
func (c *corner) resizePod(name, cpu string) {
	c.t.Helper()
	pods := c.client.CoreV1().Pods(c.namespace)
	c.check("pod", retry.RetryOnConflict(retry.DefaultRetry, func() error {
		pod, err := pods.Get(c.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse(cpu)
		_, err = pods.UpdateResize(c.ctx, name, pod, metav1.UpdateOptions{})
		return err
	}))
}

func (c *corner) deletePod(name string) {
	c.t.Helper()
	c.check("pod", c.client.CoreV1().Pods(c.namespace).Delete(c.ctx, name, metav1.DeleteOptions{}))
}

// waitRejected waits until the condition of the pod tells the reason.
func (c *corner) waitRejected(name, reason string) {
	c.t.Helper()
	WaitFor(c.ctx, c.t, 20*time.Second, func() (bool, string) {
		condition := c.scheduled(name)
		what := fmt.Sprintf("pod %s to be rejected because %q; its condition is %s %s: %s",
			name, reason, condition.Status, condition.Reason, condition.Message)
		return condition.Status == v1.ConditionFalse && strings.Contains(condition.Message, reason), what
	})
}

func (c *corner) waitBound(name string, limit time.Duration) {
	c.t.Helper()
	WaitFor(c.ctx, c.t, limit, func() (bool, string) {
		pod, err := c.client.CoreV1().Pods(c.namespace).Get(c.ctx, name, metav1.GetOptions{})
		c.check("pod", err)
		return pod.Spec.NodeName != "", fmt.Sprintf("pod %s to be bound; its condition says %q", name, c.scheduled(name).Message)
	})
}

func (c *corner) scheduled(name string) v1.PodCondition {
	pod, err := c.client.CoreV1().Pods(c.namespace).Get(c.ctx, name, metav1.GetOptions{})
	c.check("pod", err)
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled {
			return condition
		}
	}
	return v1.PodCondition{}
}

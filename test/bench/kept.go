// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	upstream "k8s.io/kubernetes/pkg/scheduler"

	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/test/bench/objects"
)

// A row of memory has a scheduler's own informers list a cluster full of assigned pods, waits until the cache has them,
// and makes a decision, so that there is a snapshot. What the heap then has more than before is kept: the objects of the
// API, the stores of the informers, the cache, the snapshot, and what is remembered for the next decision.

// keptCase is a row: a cluster, and what its pods are like.
type keptCase struct {
	what        string
	nodes, pods int
	pod         func(i int) *v1.Pod
	target      float64
	quick       bool
}

func keptCases() []keptCase {
	return []keptCase{
		{what: "plain pods", nodes: 5_000, pods: 50_000, pod: plainPod, quick: true},
		{what: "plain pods", nodes: 15_000, pods: 150_000, pod: plainPod, target: 2},
		{what: "running pods", nodes: 5_000, pods: 50_000, pod: runningPod},
		{what: "running pods", nodes: 15_000, pods: 150_000, pod: runningPod, target: 2},
	}
}

// plainPod is a pod as the other workloads have them.
func plainPod(i int) *v1.Pod { return objects.Pod(fmt.Sprintf("pod-%06d", i), 100, 128<<20) }

// runningPod is a pod of a deployment, as admission and the kubelet leave it.
func runningPod(i int) *v1.Pod {
	pod := plainPod(i)
	now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	yes := true
	pod.Labels["pod-template-hash"] = "5d59d67564"
	pod.Annotations = map[string]string{"prometheus.io/scrape": "true", "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
	pod.GenerateName = "deployment-5d59d67564-"
	pod.CreationTimestamp = now
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "deployment-5d59d67564", UID: "owner", Controller: &yes,
	}}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now, FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: make([]byte, 1_500)}, Subresource: "status",
	}}
	container := &pod.Spec.Containers[0]
	container.Args = []string{"--listen=:8080", "--log-level=info"}
	container.Ports = []v1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: v1.ProtocolTCP}}
	for e := range 6 {
		container.Env = append(container.Env, v1.EnvVar{Name: fmt.Sprint("SETTING_", e), Value: fmt.Sprint("value-", e)})
	}
	probe := &v1.Probe{PeriodSeconds: 10, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/healthz"}}}
	container.LivenessProbe, container.ReadinessProbe = probe, probe
	container.VolumeMounts = []v1.VolumeMount{{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}}
	seconds := int64(3607)
	pod.Spec.Volumes = []v1.Volume{{Name: "token", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{
		Sources: []v1.VolumeProjection{
			{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds}},
			{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: v1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
		},
	}}}}
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute})
	}
	pod.Spec.ServiceAccountName = "default"
	pod.Spec.SecurityContext = &v1.PodSecurityContext{}
	pod.Status = v1.PodStatus{
		Phase: v1.PodRunning, StartTime: &now, HostIP: "10.0.0.1", PodIP: "10.1.0.1", PodIPs: []v1.PodIP{{IP: "10.1.0.1"}},
		ContainerStatuses: []v1.ContainerStatus{{
			Name: "main", Ready: true, Image: container.Image, ImageID: "registry.example/bench@sha256:0000", ContainerID: "containerd://0000",
			State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: now}}, Started: &yes,
		}},
	}
	for _, kind := range []v1.PodConditionType{v1.PodScheduled, v1.PodInitialized, v1.ContainersReady, v1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: kind, Status: v1.ConditionTrue, LastTransitionTime: now})
	}
	return pod
}

func keptGroups() []group {
	var groups []group
	for _, c := range keptCases() {
		groups = append(groups, group{work: []work{c.work()}})
	}
	return groups
}

func (c keptCase) work() work {
	run := func(build func(context.Context, *listedClient) (keeper, error)) func(context.Context, *meter) (Sample, error) {
		return func(ctx context.Context, _ *meter) (Sample, error) { return c.measure(ctx, build) }
	}
	return work{
		Row: Row{Workload: "memory", Case: c.what, Size: c.pods, Unit: "assigned pods", Metric: HeapBytes, Target: c.target},
		runs: map[Contender]func(context.Context, *meter) (Sample, error){
			Rouse: run(newRouseKeeper), KubeScheduler: run(newKubeSchedulerKeeper),
		},
		quick: c.quick,
	}
}

// keeper is a scheduler that keeps a cluster that it can list.
type keeper interface {
	decider
	WaitForHandlersSync(context.Context) error
	// podCount is how many pods the cache has.
	podCount() (int, error)
}

func newRouseKeeper(ctx context.Context, client *listedClient) (keeper, error) {
	factory := scheduler.NewInformerFactoryWith(client, scheduler.InformerOptions{TrimPods: true}) // as the binary does
	d, err := newRouseDeciderOn(ctx, settings{}, client, factory)
	if err == nil {
		factory.Start(ctx.Done())
	}
	return d, err
}

func newKubeSchedulerKeeper(ctx context.Context, client *listedClient) (keeper, error) {
	factory := upstream.NewInformerFactory(client, 0, nil)
	d, err := newKubeSchedulerDeciderOn(ctx, settings{}, client, factory)
	if err == nil {
		factory.Start(ctx.Done())
	}
	return d, err
}

func (d *rouseDecider) podCount() (int, error)         { return d.Cache().Counts().Pods, nil }
func (d *kubeSchedulerDecider) podCount() (int, error) { return d.Cache.PodCount() }

func (c keptCase) measure(ctx context.Context, build func(context.Context, *listedClient) (keeper, error)) (Sample, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before := heap()
	k, err := build(ctx, &listedClient{Clientset: fake.NewClientset(), what: c})
	if err != nil {
		return nil, err
	}
	defer k.close()
	if err := k.WaitForHandlersSync(ctx); err != nil {
		return nil, err
	}
	if pods, err := k.podCount(); err != nil || pods != c.pods {
		return nil, fmt.Errorf("the cache has %d of %d pods: %v", pods, c.pods, err)
	}
	k.enqueue(ctx, objects.Pod("new", 100, 128<<20))
	if err := k.decide(ctx); err != nil {
		return nil, err
	}
	sample := Sample{HeapBytes: heap() - before}
	runtime.KeepAlive(k)
	return sample, nil
}

// heap is how many bytes are in use after garbage collection.
func heap() float64 {
	var memory runtime.MemStats
	for range 3 { // what finalizers and pools hold goes later
		runtime.GC()
	}
	runtime.ReadMemStats(&memory)
	return float64(memory.HeapAlloc)
}

// listedClient lists the nodes and pods of a case, made each time and decoded as they would be from a server, so
// that no two objects share memory. Of everything else there is nothing.
type listedClient struct {
	*fake.Clientset
	what keptCase
}

// CoreV1 implements kubernetes.Interface.
func (c *listedClient) CoreV1() corev1.CoreV1Interface {
	return listedCore{CoreV1Interface: c.Clientset.CoreV1(), what: c.what}
}

type listedCore struct {
	corev1.CoreV1Interface
	what keptCase
}

// Pods implements corev1.PodsGetter.
func (c listedCore) Pods(namespace string) corev1.PodInterface {
	return listedPods{PodInterface: c.CoreV1Interface.Pods(namespace), what: c.what}
}

// Nodes implements corev1.NodesGetter.
func (c listedCore) Nodes() corev1.NodeInterface {
	return listedNodes{NodeInterface: c.CoreV1Interface.Nodes(), what: c.what}
}

type listedPods struct {
	corev1.PodInterface
	what keptCase
}

// List implements corev1.PodInterface.
func (p listedPods) List(context.Context, metav1.ListOptions) (*v1.PodList, error) {
	list := &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: make([]v1.Pod, p.what.pods)}
	for i := range list.Items {
		pod := p.what.pod(i)
		pod.UID = types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
		pod.ResourceVersion = fmt.Sprint(i + 1)
		pod.Spec.NodeName = fmt.Sprintf("node-%05d", i%p.what.nodes)
		if err := decodedCopy(pod, &list.Items[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Watch implements corev1.PodInterface; nothing ever happens.
func (p listedPods) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), nil
}

type listedNodes struct {
	corev1.NodeInterface
	what keptCase
}

// List implements corev1.NodeInterface.
func (n listedNodes) List(context.Context, metav1.ListOptions) (*v1.NodeList, error) {
	list := &v1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: make([]v1.Node, n.what.nodes)}
	for i := range list.Items {
		node := objects.Node(i)
		node.ResourceVersion = fmt.Sprint(i + 1)
		node.Status.Allocatable[v1.ResourceEphemeralStorage] = resource.MustParse("100Gi")
		if err := decodedCopy(node, &list.Items[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Watch implements corev1.NodeInterface; nothing ever happens.
func (n listedNodes) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), nil
}

// decodedCopy writes an object as it goes over the wire, and reads it into another.
func decodedCopy(from interface{ Marshal() ([]byte, error) }, to interface{ Unmarshal([]byte) error }) error {
	data, err := from.Marshal()
	if err != nil {
		return err
	}
	return to.Unmarshal(data)
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	restclient "k8s.io/client-go/rest"

	"github.com/rouse-scheduler/rouse/test/bench/lightapi"
	"github.com/rouse-scheduler/rouse/test/bench/objects"
	"github.com/rouse-scheduler/rouse/test/cluster"
	"github.com/rouse-scheduler/rouse/test/programs"
)

// A start row runs the binaries of both schedulers on a cluster full of the pods of deployments, with one that has to be
// bound. It measures the time from the start of the process to the binding, the largest resident set until then, and
// the live heap of the process, which its own server tells.

// startCase is a row: a cluster, and how the scheduler gets to know it.
type startCase struct {
	how         string
	lists       bool // the API server knows no watch lists
	nodes, pods int
	deployments int
	quick       bool
}

func startCases() []startCase {
	return []startCase{
		{how: "watch lists", nodes: 1_000, pods: 10_000, deployments: 200, quick: true},
		{how: "plain lists", lists: true, nodes: 1_000, pods: 10_000, deployments: 200, quick: true},
		{how: "watch lists", nodes: 15_000, pods: 150_000, deployments: 3_000},
		{how: "plain lists", lists: true, nodes: 15_000, pods: 150_000, deployments: 3_000},
	}
}

func startGroups() []group {
	built := &binaries{}
	g := group{close: built.remove}
	for _, c := range startCases() {
		w := work{
			Row:   Row{Workload: "start", Case: c.how, Size: c.pods, Unit: "assigned pods", Metric: WallNanos, Target: 1},
			runs:  map[Contender]func(context.Context, *meter) (Sample, error){},
			quick: c.quick,
		}
		for _, who := range []Contender{Rouse, KubeScheduler} {
			w.runs[who] = func(ctx context.Context, m *meter) (Sample, error) { return built.start(ctx, m, who, c) }
		}
		g.work = append(g.work, w)
	}
	return []group{g}
}

// objects are everything that is served: a pod that waits, and the nodes, assigned pods and ReplicaSets.
func (c startCase) objects() map[string][]lightapi.Object {
	waiting := deployedPod(c.pods, c.deployments)
	waiting.Spec.NodeName, waiting.Status = "", v1.PodStatus{Phase: v1.PodPending}
	pods, nodes, sets := []lightapi.Object{waiting}, make([]lightapi.Object, c.nodes), make([]lightapi.Object, c.deployments)
	for i := range c.pods {
		pod := deployedPod(i, c.deployments)
		pod.Spec.NodeName = fmt.Sprintf("node-%05d", i%c.nodes)
		pods = append(pods, pod)
	}
	for i := range nodes {
		nodes[i] = reportedNode(i)
	}
	for i := range sets {
		sets[i] = replicaSet(i, c.deployments)
	}
	return map[string][]lightapi.Object{"pods": pods, "nodes": nodes, "replicasets": sets}
}

// deployedPod is a running pod of one of so many deployments.
func deployedPod(i, deployments int) *v1.Pod {
	pod, d := runningPod(i), i%deployments
	app, set := fmt.Sprintf("app-%04d", d), fmt.Sprintf("app-%04d-%010d", d, d*7919)
	pod.Name, pod.GenerateName = fmt.Sprintf("%s-%05x", set, i/deployments), set+"-"
	pod.Namespace = fmt.Sprintf("team-%02d", d%50)
	pod.UID = types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i))
	pod.ResourceVersion = fmt.Sprint(100_000 + i)
	pod.Labels = map[string]string{"app": app, "pod-template-hash": set[len(app)+1:], "app.kubernetes.io/managed-by": "Helm", "tier": "backend"}
	pod.OwnerReferences[0].Name, pod.OwnerReferences[0].UID = set, ownerUID(d)
	pod.Spec.ServiceAccountName, pod.Spec.Containers[0].Name = app, app
	pod.Spec.Containers[0].Image = "registry.example/team/" + app + ":v1.2.3"
	pod.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = *resource.NewQuantity(int64(64+d%200)<<20, resource.BinarySI)
	ip := fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&0xff, i&0xff)
	pod.Status.PodIP, pod.Status.PodIPs = ip, []v1.PodIP{{IP: ip}}
	status := &pod.Status.ContainerStatuses[0]
	status.Name, status.Image = app, pod.Spec.Containers[0].Image
	status.ImageID = fmt.Sprintf("registry.example/team/%s@sha256:%064d", app, d)
	status.ContainerID = fmt.Sprintf("containerd://%064d", i)
	return pod
}

func ownerUID(deployment int) types.UID {
	return types.UID(fmt.Sprintf("10000000-0000-0000-0000-%012d", deployment))
}

func replicaSet(d, deployments int) *appsv1.ReplicaSet {
	pod := deployedPod(d, deployments)
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.OwnerReferences[0].Name, Namespace: pod.Namespace, UID: ownerUID(d), ResourceVersion: "1", Labels: pod.Labels,
		},
		Spec: appsv1.ReplicaSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{
				"app": pod.Labels["app"], "pod-template-hash": pod.Labels["pod-template-hash"],
			}},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		},
	}
}

// reportedNode is a node as its kubelet reports it.
func reportedNode(i int) *v1.Node {
	node := objects.Node(i)
	now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	node.ResourceVersion, node.CreationTimestamp = fmt.Sprint(i+1), now
	node.UID = types.UID(fmt.Sprintf("20000000-0000-0000-0000-%012d", i))
	node.Annotations = map[string]string{
		"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true",
	}
	node.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &now, FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: []byte(strings.Repeat("x", 2_500))}, Subresource: "status",
	}}
	node.Status.Allocatable[v1.ResourceEphemeralStorage] = resource.MustParse("100Gi")
	for _, kind := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure} {
		node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{
			Type: kind, Status: v1.ConditionFalse, LastHeartbeatTime: now, LastTransitionTime: now,
			Reason: "KubeletHasSufficient", Message: "kubelet has enough of " + string(kind),
		})
	}
	node.Status.Addresses = []v1.NodeAddress{
		{Type: v1.NodeInternalIP, Address: fmt.Sprintf("172.16.%d.%d", i>>8, i&0xff)}, {Type: v1.NodeHostName, Address: node.Name},
	}
	node.Status.NodeInfo = v1.NodeSystemInfo{
		MachineID: fmt.Sprintf("%032d", i), SystemUUID: fmt.Sprintf("%036d", i), BootID: fmt.Sprintf("%036d", i),
		KernelVersion: "6.8.0-generic", OSImage: "Linux", ContainerRuntimeVersion: "containerd://2.0.0", KubeletVersion: "v1.37.1",
		OperatingSystem: "linux", Architecture: "amd64",
	}
	for image := range 20 {
		name := fmt.Sprintf("registry.example/team/app-%04d", (i+image)%300)
		node.Status.Images = append(node.Status.Images, v1.ContainerImage{
			Names: []string{fmt.Sprintf("%s@sha256:%064d", name, image), name + ":v1.2.3"}, SizeBytes: 100 << 20,
		})
	}
	return node
}

// start runs a scheduler until it has bound the pod.
func (p *binaries) start(ctx context.Context, m *meter, who Contender, c startCase) (_ Sample, err error) {
	if err := p.build(ctx); err != nil {
		return nil, err
	}
	api, err := lightapi.New(c.objects())
	if err != nil {
		return nil, err
	}
	defer api.Close()
	api.NoWatchLists = c.lists
	harness := cluster.NewHarness("start")
	defer harness.End(&err)
	options := cluster.SchedulerOptions{
		Name: string(who), Binary: filepath.Join(p.folder, programs.KubeScheduler().Name),
		Config:    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: {leaderElect: false}\n",
		Arguments: []string{"--authorization-always-allow-paths=/readyz,/debug/pprof/heap"},
		API:       &restclient.Config{Host: api.URL},
	}
	if who == Rouse {
		options.Binary = filepath.Join(p.folder, programs.Rouse().Name)
		options.Arguments = append([]string{"run"}, options.Arguments...)
	}
	ctx, cancel := context.WithTimeout(ctx, endToEndLimit)
	defer cancel()
	began := time.Now()
	process := cluster.StartScheduler(harness, options)
	if err := api.WaitBound(ctx); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, lastLines(process.Log(), 20))
	}
	wall := time.Since(began)
	used, err := process.Usage()
	if err != nil {
		return nil, err
	}
	live, err := liveHeap(ctx, process)
	if err != nil {
		return nil, err
	}
	return Sample{
		WallNanos: float64(wall), CPUNanos: float64(used.CPU), ResidentBytes: float64(used.PeakRSS), HeapBytes: live,
	}, nil
}

const endToEndLimit = 10 * time.Minute

// liveHeap is what a process has after garbage collection.
func liveHeap(ctx context.Context, process *cluster.Scheduler) (float64, error) {
	var text string
	for range 3 { // what finalizers and pools hold goes later
		answer, err := process.Read(ctx, "/debug/pprof/heap?debug=1&gc=1", "")
		if err != nil {
			return 0, err
		}
		text = answer.Body
	}
	for line := range strings.Lines(text) {
		var size float64
		if n, _ := fmt.Sscanf(line, "# HeapAlloc = %g", &size); n == 1 {
			return size, nil
		}
	}
	return 0, fmt.Errorf("the profile of the heap does not tell its size:\n%s", lastLines(text, 20))
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clientcache "k8s.io/client-go/tools/cache"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
)

func smallRequests(cpu string) v1.ResourceList {
	return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("1Gi")}
}

// keptPod has only what is kept of a pod with a node.
func keptPod() *v1.Pod {
	now := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Namespace: "default", UID: "uid", ResourceVersion: "7", Generation: 3, CreationTimestamp: now,
			DeletionTimestamp: &now, DeletionGracePeriodSeconds: ptr.To(int64(5)), Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: ptr.To(true)}},
		},
		Spec: v1.PodSpec{
			NodeName: "node", SchedulerName: "default-scheduler", Priority: ptr.To(int32(5)), PriorityClassName: "high",
			PreemptionPolicy: ptr.To(v1.PreemptNever), Overhead: smallRequests("10m"), HostNetwork: true, HostUsers: ptr.To(false),
			NodeSelector:              map[string]string{"disk": "ssd"},
			Affinity:                  &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{}},
			Tolerations:               []v1.Toleration{{Key: "x", Operator: v1.TolerationOpExists}},
			TopologySpreadConstraints: []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone"}},
			ResourceClaims:            []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("gpu")}},
			Resources:                 &v1.ResourceRequirements{Requests: smallRequests("2")},
			Containers: []v1.Container{{
				Name: "main", Image: "web:1", Resources: v1.ResourceRequirements{Requests: smallRequests("1"), Limits: smallRequests("2")},
				Ports: []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080}},
			}},
			InitContainers: []v1.Container{{Name: "side", Image: "side:1", RestartPolicy: ptr.To(v1.ContainerRestartPolicyAlways)}},
			Volumes: []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
			}}},
		},
		Status: v1.PodStatus{
			Phase: v1.PodRunning, StartTime: &now, NominatedNodeName: "node",
			Conditions: []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonInfeasible}},
			ContainerStatuses: []v1.ContainerStatus{{
				Name: "main", AllocatedResources: smallRequests("3"), Resources: &v1.ResourceRequirements{Requests: smallRequests("4")},
			}},
			ResourceClaimStatuses: []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To("gpu")}},
		},
	}
}

// wholePod is keptPod with what an API server has of it in addition.
func wholePod() *v1.Pod {
	pod := keptPod()
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	pod.Annotations = map[string]string{"a": "b"}
	pod.Finalizers = []string{"f"}
	pod.GenerateName = "web-"
	spec := &pod.Spec
	spec.ServiceAccountName = "default"
	spec.TerminationGracePeriodSeconds = ptr.To(int64(30))
	spec.SecurityContext = &v1.PodSecurityContext{}
	spec.Volumes = append(spec.Volumes, v1.Volume{Name: "token", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}})
	main := &spec.Containers[0]
	main.Env = []v1.EnvVar{{Name: "a", Value: "b"}}
	main.Command, main.Args = []string{"run"}, []string{"-v"}
	main.LivenessProbe = &v1.Probe{}
	main.VolumeMounts = []v1.VolumeMount{{Name: "data"}}
	main.Ports = append(main.Ports, v1.ContainerPort{ContainerPort: 81})
	status := &pod.Status
	status.PodIP, status.PodIPs = "10.0.0.1", []v1.PodIP{{IP: "10.0.0.1"}}
	status.Conditions = append([]v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}, status.Conditions...)
	status.ContainerStatuses[0].Image = "web:1"
	status.ContainerStatuses[0].State.Running = &v1.ContainerStateRunning{}
	status.ContainerStatuses = append(status.ContainerStatuses, v1.ContainerStatus{Name: "side"})
	return pod
}

func shrunk(t *testing.T, shared *sharedValues, object any) any {
	t.Helper()
	result, err := shared.trim(object)
	if err != nil {
		t.Fatal(err)
	}
	if compact, ok := result.(*framework.CompactPod); ok {
		return compact.Pod()
	}
	return result
}

func TestWhatIsKeptOfAssignedPods(t *testing.T) {
	shared := &sharedValues{}
	for range 2 { // the second pod gets parts of the first
		got := shrunk(t, shared, wholePod())
		if diff := cmp.Diff(keptPod(), got); diff != "" {
			t.Errorf("what is kept of a pod (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(keptPod(), shrunk(t, shared, got)); diff != "" {
			t.Errorf("shrinking a pod again changes it (-want +got):\n%s", diff)
		}
	}
}

func TestPodsAreTrimmedOnRequest(t *testing.T) {
	full := wholePod()
	full.ManagedFields = nil
	for name, test := range map[string]struct {
		factory func(clientset.Interface) informers.SharedInformerFactory
		want    *v1.Pod
	}{
		"default": {NewInformerFactory, full},
		"named": {func(client clientset.Interface) informers.SharedInformerFactory {
			return NewInformerFactory(client)
		}, full},
		"trimmed": {func(client clientset.Interface) informers.SharedInformerFactory {
			return NewInformerFactoryWith(client, InformerOptions{TrimPods: true})
		}, keptPod()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				factory := test.factory(fake.NewClientset(wholePod()))
				pods := factory.Core().V1().Pods()
				pods.Informer()
				ctx, cancel := context.WithCancel(t.Context())
				factory.Start(ctx.Done())
				factory.WaitForCacheSync(ctx.Done())
				got, err := pods.Lister().Pods("default").Get("a")
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("the pod that the informer delivers (-want +got):\n%s", diff)
				}
				cancel()
				factory.Shutdown()
			})
		})
	}
}

// TestOwnersAreTrimmedOnRequest has default factories deliver owners of pods as they are.
func TestOwnersAreTrimmedOnRequest(t *testing.T) {
	selector, template := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, v1.PodTemplateSpec{Spec: wholePod().Spec}
	kept := metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "uid", ResourceVersion: "7"}
	full := kept
	full.Labels, full.ManagedFields = selector.MatchLabels, []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	set := &appsv1.ReplicaSet{ObjectMeta: full, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}}
	stateful := &appsv1.StatefulSet{ObjectMeta: full, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}}
	controller := &v1.ReplicationController{
		ObjectMeta: full, Spec: v1.ReplicationControllerSpec{Selector: selector.MatchLabels, Template: &template},
	}
	trimmed := []any{
		&appsv1.ReplicaSet{ObjectMeta: kept, Spec: appsv1.ReplicaSetSpec{Selector: selector}},
		&appsv1.StatefulSet{ObjectMeta: kept, Spec: appsv1.StatefulSetSpec{Selector: selector}},
		&v1.ReplicationController{ObjectMeta: kept, Spec: v1.ReplicationControllerSpec{Selector: selector.MatchLabels}},
	}
	for name, test := range map[string]struct {
		options InformerOptions
		want    []any
	}{
		"default": {want: []any{set, stateful, controller}},
		"trimmed": {options: InformerOptions{TrimPods: true}, want: trimmed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				factory := NewInformerFactoryWith(fake.NewClientset(set.DeepCopy(), stateful.DeepCopy(), controller.DeepCopy()), test.options)
				stores := []clientcache.Store{
					factory.Apps().V1().ReplicaSets().Informer().GetStore(), factory.Apps().V1().StatefulSets().Informer().GetStore(),
					factory.Core().V1().ReplicationControllers().Informer().GetStore(),
				}
				ctx, cancel := context.WithCancel(t.Context())
				factory.Start(ctx.Done())
				factory.WaitForCacheSync(ctx.Done())
				var got []any
				for _, store := range stores {
					got = append(got, store.List()...)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("the owners that the informers deliver (-want +got):\n%s", diff)
				}
				cancel()
				factory.Shutdown()
			})
		})
	}
}

func TestPodsWithoutANodeStayWhole(t *testing.T) {
	pod := wholePod()
	pod.Spec.NodeName = ""
	want := pod.DeepCopy()
	want.ManagedFields = nil
	if diff := cmp.Diff(want, shrunk(t, &sharedValues{}, pod)); diff != "" {
		t.Errorf("a pod without a node (-want +got):\n%s", diff)
	}
}

func TestNodesStayWhole(t *testing.T) {
	node := func(name string) *v1.Node {
		return &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}, Annotations: map[string]string{"a": "b"}},
			Status: v1.NodeStatus{
				Capacity: smallRequests("8"), Allocatable: smallRequests("8"),
				Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Reason: "KubeletReady", Message: "kubelet is posting ready status"}},
				Images:     []v1.ContainerImage{{Names: []string{"web:1", "web@sha256:1"}, SizeBytes: 5}},
				NodeInfo:   v1.NodeSystemInfo{KubeletVersion: "v1.37.1"},
			},
		}
	}
	shared := &sharedValues{}
	for _, name := range []string{"a", "b"} {
		if diff := cmp.Diff(node(name), shrunk(t, shared, node(name))); diff != "" {
			t.Errorf("node %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestPodsAlikeShareMemory counts what a further pod of a deployment takes: what is its own.
func TestPodsAlikeShareMemory(t *testing.T) {
	shared := &sharedValues{}
	first := shrunk(t, shared, wholePod()).(*v1.Pod)
	other := wholePod()
	other.Name, other.UID = "b", "other"
	second := shrunk(t, shared, other).(*v1.Pod)
	if &first.Spec.Containers[0] != &second.Spec.Containers[0] || first.Spec.Affinity != second.Spec.Affinity ||
		&first.Status.ContainerStatuses[0] != &second.Status.ContainerStatuses[0] ||
		&first.OwnerReferences[0] != &second.OwnerReferences[0] {
		t.Error("pods that are alike do not share their containers, affinity, statuses or owners")
	}
	different := wholePod()
	different.Spec.Containers[0].Resources.Requests = smallRequests("9")
	if third := shrunk(t, shared, different).(*v1.Pod); third.Spec.Containers[0].Resources.Requests.Cpu().Value() != 9 {
		t.Error("a pod that is different got the containers of another")
	}
}

// TestMemoryOfAnAssignedPod measures what a further pod of a deployment takes, decoded as from a server: the 352 bytes of
// a compact pod, and 96 for what tells it from others.
func TestMemoryOfAnAssignedPod(t *testing.T) {
	const count = 10_000
	shared := &sharedValues{}
	pods := make([]any, count)
	before := heapInUse()
	for i := range pods {
		whole := wholePod()
		whole.ObjectMeta = metav1.ObjectMeta{
			Name: fmt.Sprintf("deployment-with-a-name-5d59d67564-%05d", i), Namespace: "default", Labels: whole.Labels,
			UID: types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i)), ResourceVersion: strconv.Itoa(100_000_000 + i),
		}
		whole.Spec.Volumes, whole.Status = nil, v1.PodStatus{Phase: v1.PodRunning}
		data, err := whole.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		pod := &v1.Pod{}
		if err := pod.Unmarshal(data); err != nil {
			t.Fatal(err)
		}
		pods[i] = shared.compacted(pod)
	}
	if got := (heapInUse() - before) / count; got > 456 {
		t.Errorf("a pod takes %d bytes, want 456 at most", got)
	}
	runtime.KeepAlive(pods)
}

// heapInUse returns how many bytes are in use after garbage collection.
func heapInUse() int64 {
	var memory runtime.MemStats
	for range 2 { // what finalizers and pools hold goes later
		runtime.GC()
	}
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}

// TestTrimmingChangesNoDecision compares what is read of full and of trimmed pods.
func TestTrimmingChangesNoDecision(t *testing.T) {
	options := podresource.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true}
	for name, change := range map[string]func(*v1.Pod){
		"as it is":             func(*v1.Pod) {},
		"resized":              func(pod *v1.Pod) { pod.Status.ContainerStatuses[0].AllocatedResources = smallRequests("7") },
		"no resize is pending": func(pod *v1.Pod) { pod.Status.Conditions = nil },
		"no statuses":          func(pod *v1.Pod) { pod.Status.ContainerStatuses = nil },
		"other labels":         func(pod *v1.Pod) { pod.Labels = map[string]string{"app": "other"} },
		"one more toleration":  func(pod *v1.Pod) { pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{}) },
		"only the address":     func(pod *v1.Pod) { pod.Status.PodIP = "10.0.0.2" },
		"claims are made":      func(pod *v1.Pod) { pod.Status.ResourceClaimStatuses = nil },
		"pod level, allocated": func(pod *v1.Pod) { pod.Status.AllocatedResources = smallRequests("9") },
		"pod level, in effect": func(pod *v1.Pod) {
			pod.Status.Resources = &v1.ResourceRequirements{Requests: smallRequests("8")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := wholePod(), wholePod()
			change(after)
			shared := &sharedValues{}
			smallBefore := shrunk(t, shared, before.DeepCopy()).(*v1.Pod)
			smallAfter := shrunk(t, shared, after.DeepCopy()).(*v1.Pod)
			if diff := cmp.Diff(podresource.PodRequests(after, options), podresource.PodRequests(smallAfter, options)); diff != "" {
				t.Errorf("requests (-whole +small):\n%s", diff)
			}
			if diff := cmp.Diff(framework.PodEvents(before, after, false), framework.PodEvents(smallBefore, smallAfter, false)); diff != "" {
				t.Errorf("events (-whole +small):\n%s", diff)
			}
		})
	}
}

// TestPatchOfATrimmedPodLosesNothing applies to a whole pod what preemption writes about the small one that it knows.
func TestPatchOfATrimmedPodLosesNothing(t *testing.T) {
	marshal := func(pod *v1.Pod) []byte {
		data, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	trimmed := shrunk(t, &sharedValues{}, wholePod()).(*v1.Pod)
	evicted := trimmed.DeepCopy()
	evicted.Status.Conditions = append(evicted.Status.Conditions, v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue})
	patch, err := strategicpatch.CreateTwoWayMergePatch(marshal(trimmed), marshal(evicted), &v1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	patched, err := strategicpatch.StrategicMergePatch(marshal(wholePod()), patch, &v1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	var got v1.Pod
	if err := json.Unmarshal(patched, &got); err != nil {
		t.Fatal(err)
	}
	kinds := map[v1.PodConditionType]bool{}
	for _, condition := range got.Status.Conditions {
		kinds[condition.Type] = true
	}
	if want := map[v1.PodConditionType]bool{v1.PodReady: true, v1.PodResizePending: true, v1.DisruptionTarget: true}; !cmp.Equal(want, kinds) {
		t.Errorf("conditions are %v, want %v", kinds, want)
	}
	got.Status.Conditions = wholePod().Status.Conditions
	if diff := cmp.Diff(string(marshal(wholePod())), string(marshal(&got))); diff != "" {
		t.Errorf("the rest of the pod (-before +after):\n%s", diff)
	}
}

func TestSharedValuesForgetRatherThanGrow(t *testing.T) {
	shared := &sharedValues{}
	for i := range 2 * maxShared {
		text := strconv.Itoa(i)
		shared.shareText(&text)
	}
	if got := len(shared.texts); got > maxShared {
		t.Errorf("%d texts are remembered, want %d at most", got, maxShared)
	}
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// podToCompact has a value in every field that a compact pod has apart from those that it shares.
func podToCompact() *v1.Pod {
	started := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return objects.Pod("a").UID("u").Namespace("shop").Node("n1").Requests("cpu", "2", "memory", "1Gi").HostPort(8080).With(func(p *v1.Pod) {
		p.Labels = map[string]string{"app": "web"}
		p.Spec.Priority = ptr.To(int32(7))
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
				TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
			}},
		}}
		p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}
		p.Status = v1.PodStatus{Phase: v1.PodRunning, StartTime: &started}
	}).Build()
}

func compactOf(pod *v1.Pod) *CompactPod {
	c := &CompactPod{
		ObjectMeta: pod.ObjectMeta, NodeName: pod.Spec.NodeName, Affinity: pod.Spec.Affinity, Volumes: pod.Spec.Volumes,
		Spec: pod.Spec.DeepCopy(), StartTime: pod.Status.StartTime, Status: pod.Status.DeepCopy(),
	}
	c.Spec.NodeName, c.Spec.Affinity, c.Spec.Volumes, c.Status.StartTime = "", nil, nil, nil
	return c
}

func TestCompactPodIsTheSameForAll(t *testing.T) {
	compact := compactOf(podToCompact())
	held := compact.Pod()
	if diff := cmp.Diff(podToCompact(), held); diff != "" {
		t.Errorf("the pod (-want +got):\n%s", diff)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 100 {
				if compact.Pod() != held {
					t.Error("two pods were made of one while the first was held")
					return
				}
				runtime.GC()
			}
		})
	}
	wait.Wait()
	before := weak.Make(held)
	runtime.KeepAlive(held)
	held = nil
	runtime.GC()
	if before.Value() != nil {
		t.Error("the pod is kept although nothing refers to it")
	}
	if diff := cmp.Diff(podToCompact(), compact.Pod()); diff != "" {
		t.Errorf("the pod that was made again (-want +got):\n%s", diff)
	}
}

func TestCompactPodIsMadeInPlace(t *testing.T) {
	compact, pod := compactOf(podToCompact()), objects.Pod("another").Node("n2").Build()
	compact.MakeIn(pod)
	if got := compact.Pod(); got != pod {
		t.Error("the pod was made elsewhere")
	}
	if diff := cmp.Diff(podToCompact(), pod); diff != "" {
		t.Errorf("the pod (-want +got):\n%s", diff)
	}
}

// TestNodesCountCompactPodsAlike compares all that a node info and views tell of a pod that is compact, and of the same pod
// that is not.
func TestNodesCountCompactPodsAlike(t *testing.T) {
	full, err := NewPodInfo(podToCompact())
	if err != nil {
		t.Fatal(err)
	}
	compact := &PodInfo{}
	if err := compact.UpdateCompact(compactOf(podToCompact())); err != nil {
		t.Fatal(err)
	}
	type facts struct {
		Meta      *metav1.ObjectMeta
		Priority  int32
		StartTime *metav1.Time
		Volumes   []v1.Volume
		Pod       *v1.Pod
		Anti      int
		Requests  fwk.PodResource
		Node      []string
		Ports     fwk.HostPortInfo
		Claims    map[string]int
	}
	about := func(info *PodInfo) facts {
		node, view := NewNodeInfo(), ViewPod(info)
		node.AddPodInfo(info)
		f := facts{
			view.Meta(), view.Priority(), view.StartTime(), view.Volumes(), info.GetPod(), len(info.GetRequiredAntiAffinityTerms()),
			info.CalculateResource(), nil, node.GetUsedPorts(), node.GetPVCRefCounts(),
		}
		for _, pods := range [][]fwk.PodInfo{node.GetPods(), node.GetPodsWithAffinity(), node.GetPodsWithRequiredAntiAffinity()} {
			for _, pod := range pods {
				f.Node = append(f.Node, pod.GetPod().Name)
			}
		}
		if err := node.RemovePod(klog.Logger{}, podToCompact()); err != nil || len(node.GetUsedPorts())+len(node.GetPVCRefCounts()) > 0 {
			t.Errorf("removing the pod: %v; still taken: %v, %v", err, node.GetUsedPorts(), node.GetPVCRefCounts())
		}
		return f
	}
	if diff := cmp.Diff(about(full), about(compact), cmp.AllowUnexported(Resource{})); diff != "" {
		t.Errorf("a pod (-full +compact):\n%s", diff)
	}
	if err := compact.Update(podToCompact()); err != nil || compact.Pod == nil || compact.GetPod() != compact.Pod {
		t.Errorf("after an update with a v1.Pod there is another: %v", err)
	}
	if got := ViewPod(&PodInfo{compact: &CompactPod{Spec: &v1.PodSpec{}}}).Priority(); got != 0 {
		t.Errorf("priority of a compact pod without one is %d, want 0", got)
	}
}

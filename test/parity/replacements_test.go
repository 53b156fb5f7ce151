// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	resourcehelpers "k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
	kubectlqos "k8s.io/kubectl/pkg/util/qos"
	podapi "k8s.io/kubernetes/pkg/api/v1/pod"
	resourceapi "k8s.io/kubernetes/pkg/api/v1/resource"
	corehelper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	upstream "k8s.io/kubernetes/pkg/scheduler/framework"
	pluginhelper "k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	upstreamruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
	"github.com/rouse-scheduler/rouse/plugins/prioritysort"
	"github.com/rouse-scheduler/rouse/runtime"
)

// comparisons are, by the name of a function of k8s.io/kubernetes that plugins call, what it returns for two pods, and
// what that returns which docs/migrating.md says to call instead.
type comparisons map[string]func(pod, other *v1.Pod) (their, our any)

func replacements() comparisons {
	all := ofPods()
	maps.Copy(all, ofFramework())
	maps.Copy(all, comparisons{
		"IsScalarResourceName":           ofResources(schedutil.IsScalarResourceName, framework.IsScalarResourceName),
		"IsNativeResource":               ofResources(corehelper.IsNativeResource, framework.IsNativeResource),
		"IsExtendedResourceName":         ofResources(corehelper.IsExtendedResourceName, framework.IsExtendedResourceName),
		"IsHugePageResourceName":         ofResources(corehelper.IsHugePageResourceName, framework.IsHugePageResourceName),
		"IsAttachableVolumeResourceName": ofResources(corehelper.IsAttachableVolumeResourceName, framework.IsAttachableVolumeResourceName),
	})
	return all
}

// ofPods are functions of pods.
func ofPods() comparisons {
	return comparisons{
		"GetPodKey": func(pod, _ *v1.Pod) (their, our any) {
			key, err := upstream.GetPodKey(pod)
			return fmt.Sprint(key, err), fmt.Sprint(string(pod.UID), nil)
		},
		"GetPodNamespacedName": func(pod, _ *v1.Pod) (their, our any) {
			return upstream.GetPodNamespacedName(pod), types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}.String()
		},
		"GetNamespacedName": func(pod, _ *v1.Pod) (their, our any) {
			return upstream.GetNamespacedName(pod.Namespace, pod.Name), types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}.String()
		},
		"GetHostPorts": func(pod, _ *v1.Pod) (their, our any) {
			return schedutil.GetHostPorts(pod), framework.HostPorts(pod)
		},
		"GetPodFullName": func(pod, _ *v1.Pod) (their, our any) {
			return schedutil.GetPodFullName(pod), pod.Name + "_" + pod.Namespace
		},
		"MoreImportantPod": func(a, b *v1.Pod) (their, our any) {
			if a.Status.StartTime == nil && b.Status.StartTime == nil {
				return nil, nil // kube-scheduler's reads the clock twice, and prefers the one that it asks about first
			}
			return schedutil.MoreImportantPod(a, b), preemption.MoreImportantPod(a, b, time.Now())
		},
		"GetPodQOS": func(pod, _ *v1.Pod) (their, our any) {
			return qos.GetPodQOS(pod), kubectlqos.GetPodQOS(pod)
		},
		"GetPodCondition": func(pod, _ *v1.Pod) (their, our any) {
			theirs, _ := podapi.GetPodCondition(&pod.Status, v1.PodScheduled)
			return theirs, slices.IndexFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodScheduled })
		},
		"GetResourceRequestQuantity": func(pod, _ *v1.Pod) (their, our any) {
			pod = withoutPodLevel(pod)
			ours := resourcehelpers.PodRequests(pod, resourcehelpers.PodResourcesOptions{})
			theirs := ours.DeepCopy()
			for name, our := range ours {
				if their := resourceapi.GetResourceRequestQuantity(pod, name); !their.Equal(our) {
					theirs[name] = their
				}
			}
			return theirs, ours
		},
		"GetResourceRequest": func(pod, _ *v1.Pod) (their, our any) {
			pod = withoutPodLevel(pod)
			requests := resourcehelpers.PodRequests(pod, resourcehelpers.PodResourcesOptions{})
			return resourceapi.GetResourceRequest(pod, v1.ResourceCPU), requests.Cpu().MilliValue()
		},
	}
}

// ofFramework are functions that plugins call on what the framework gives them, or for what they give it.
func ofFramework() comparisons {
	return comparisons{
		"NewPostFilterResultWithNominatedNode": func(pod, _ *v1.Pod) (their, our any) {
			name := pod.Spec.NodeName
			return upstream.NewPostFilterResultWithNominatedNode(name),
				&fwk.PostFilterResult{NominatingInfo: &fwk.NominatingInfo{NominatedNodeName: name, NominatingMode: fwk.ModeOverride}}
		},
		"PodSchedulingPropertiesChange": func(newPod, oldPod *v1.Pod) (their, our any) {
			return upstream.PodSchedulingPropertiesChange(newPod, oldPod, true), framework.PodEvents(oldPod, newPod, true)
		},
		"NodeSchedulingPropertiesChange": func(pod, other *v1.Pod) (their, our any) {
			oldNode, newNode := &v1.Node{ObjectMeta: other.ObjectMeta}, &v1.Node{ObjectMeta: pod.ObjectMeta}
			return upstream.NodeSchedulingPropertiesChange(newNode, oldNode), framework.NodeEvents(oldNode, newNode)
		},
		"DecodeInto": func(pod, _ *v1.Pod) (their, our any) {
			type arguments struct {
				Priority int `json:"priority"`
			}
			args := &apiruntime.Unknown{Raw: fmt.Appendf(nil, `{"priority": %d}`, ptr.Deref(pod.Spec.Priority, 7))}
			var theirs, ours arguments
			theirErr, ourErr := upstreamruntime.DecodeInto(args, &theirs), runtime.DecodeInto(args, &ours)
			return fmt.Sprint(theirs, theirErr), fmt.Sprint(ours, ourErr)
		},
		"DefaultNormalizeScore": func(pod, other *v1.Pod) (their, our any) {
			scores := fwk.NodeScoreList{{Score: int64(len(pod.Spec.Volumes))}, {Score: int64(len(other.Spec.Volumes))}}
			ours := slices.Clone(scores)
			pluginhelper.DefaultNormalizeScore(100, true, scores)
			framework.DefaultNormalizeScore(100, true, ours)
			return scores, ours
		},
		"PrioritySort": func(pod, other *v1.Pod) (their, our any) {
			a, b := framework.NewQueuedPodInfo(pod, time.Unix(1, 0)), framework.NewQueuedPodInfo(other, time.Unix(2, 0))
			return (&queuesort.PrioritySort{}).Less(b, a), prioritysort.Less(b, a)
		},
		"As": func(pod, other *v1.Pod) (their, our any) {
			theirOld, theirNew, theirErr := schedutil.As[*v1.Pod](pod, other)
			ourOld, ourNew, ourErr := framework.HintObjects[v1.Pod](pod, other)
			return []any{theirOld.UID, theirNew.UID, theirErr}, []any{ourOld.UID, ourNew.UID, ourErr}
		},
	}
}

// withoutPodLevel leaves out of a pod what kube-scheduler's helper functions know nothing of: resources of the pod as a
// whole, and an overhead where no container requests anything.
func withoutPodLevel(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.Resources, pod.Spec.Overhead = nil, nil
	return pod
}

// ofResources asks two functions about the resources that a pod requests.
func ofResources(their, our func(v1.ResourceName) bool) func(pod, other *v1.Pod) (their, our any) {
	return func(pod, _ *v1.Pod) (any, any) {
		theirs, ours := map[v1.ResourceName]bool{}, map[v1.ResourceName]bool{}
		for _, container := range pod.Spec.Containers {
			for name := range container.Resources.Requests {
				theirs[name], ours[name] = their(name), our(name)
			}
		}
		return theirs, ours
	}
}

// TestReplacements checks that what docs/migrating.md names in place of functions of k8s.io/kubernetes comes to
// the same, for every function that the page names, and that the page names every one that is checked here.
func TestReplacements(t *testing.T) {
	documented := documentedReplacements(t)
	g := newGenerator(11)
	for name, compare := range replacements() {
		if !slices.Contains(documented, name) {
			t.Errorf("the page does not say what to use instead of %s", name)
		}
		for range 100 {
			pod, other := g.somePod("a"), g.somePod("b")
			their, our := compare(pod, other)
			if diff := cmp.Diff(their, our); diff != "" {
				t.Fatalf("%s and what replaces it (-kube-scheduler +rouse):\n%s\n%s", name, diff, hintCase{oldObj: pod, newObj: other}.text(profile{}))
			}
		}
	}
	for _, name := range documented {
		if replacements()[name] == nil {
			t.Errorf("the page says what to use instead of %s, which is not checked", name)
		}
	}
}

// somePod returns a pod with a status, and with limits now and then.
func (g *generator) somePod(name string) *v1.Pod {
	pod := g.pod(name)
	for i := range pod.Spec.Containers {
		if resources := &pod.Spec.Containers[i].Resources; g.oneIn(2) {
			resources.Limits = resources.Requests
		}
	}
	if g.oneIn(2) {
		pod.Status.StartTime = ptr.To(metav1.Unix(int64(g.IntN(3)), 0))
	}
	pod.Status.Conditions = some(g, 3, func() v1.PodCondition {
		return v1.PodCondition{Type: pick(g, v1.PodScheduled, v1.PodReady, v1.DisruptionTarget)}
	})
	return pod
}

// documentedReplacements returns the functions that the page has in the left column of its second table.
func documentedReplacements(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| you called | call now |\n| --- | --- |\n")
	if !found {
		t.Fatal("the page has no table of functions")
	}
	var names []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			break
		}
		_, functions, _ := strings.Cut(cells[1], ":")
		for name := range strings.SplitSeq(functions, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

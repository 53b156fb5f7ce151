// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// termView is an affinity term in comparable form.
type termView struct {
	Namespaces        []string
	Selector          string
	NamespaceSelector string
	TopologyKey       string
	Weight            int32
}

type affinityView struct{ Affinity, AntiAffinity, PreferredAffinity, PreferredAntiAffinity []termView }

func viewAffinity(info fwk.PodInfo) affinityView {
	view := func(term fwk.AffinityTerm, weight int32) termView {
		return termView{sets.List(term.Namespaces), term.Selector.String(), term.NamespaceSelector.String(), term.TopologyKey, weight}
	}
	required := func(terms []fwk.AffinityTerm) (views []termView) {
		for _, term := range terms {
			views = append(views, view(term, 0))
		}
		return views
	}
	preferred := func(terms []fwk.WeightedAffinityTerm) (views []termView) {
		for _, term := range terms {
			views = append(views, view(term.AffinityTerm, term.Weight))
		}
		return views
	}
	return affinityView{
		required(info.GetRequiredAffinityTerms()), required(info.GetRequiredAntiAffinityTerms()),
		preferred(info.GetPreferredAffinityTerms()), preferred(info.GetPreferredAntiAffinityTerms()),
	}
}

func TestPodInfoAffinityTerms(t *testing.T) {
	elsewhere := term("zone", "web")
	elsewhere.Namespaces = []string{"x", "y"}
	bySelector := term("zone", "web")
	bySelector.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	all := term("zone", "web")
	all.NamespaceSelector = &metav1.LabelSelector{}
	view := func(key, app string) termView {
		return termView{Namespaces: []string{"default"}, Selector: "app=" + app, NamespaceSelector: "", TopologyKey: key}
	}
	weighted := func(view termView, weight int32) termView { view.Weight = weight; return view }
	tests := []struct {
		name       string
		pod        *v1.Pod
		want       affinityView
		wantErrors []string // one for each list that does not parse
	}{
		{name: "no affinity", pod: objects.Pod("p").Build()},
		{name: "empty affinity", pod: objects.Pod("p").With(withAffinity(&v1.PodAffinity{})).With(withAntiAffinity(&v1.PodAntiAffinity{})).Build()},
		{name: "node affinity only", pod: objects.Pod("p").With(func(pod *v1.Pod) { affinityOf(pod).NodeAffinity = &v1.NodeAffinity{} }).Build()},
		{
			name: "all four lists",
			pod: objects.Pod("p").With(withAffinity(&v1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term("zone", "a"), term("host", "b")},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
					{Weight: 3, PodAffinityTerm: term("zone", "c")}},
			})).With(withAntiAffinity(&v1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term("zone", "d")},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
					{Weight: 5, PodAffinityTerm: term("zone", "e")}, {Weight: 7, PodAffinityTerm: term("host", "f")}},
			})).Build(),
			want: affinityView{
				Affinity:              []termView{view("zone", "a"), view("host", "b")},
				AntiAffinity:          []termView{view("zone", "d")},
				PreferredAffinity:     []termView{weighted(view("zone", "c"), 3)},
				PreferredAntiAffinity: []termView{weighted(view("zone", "e"), 5), weighted(view("host", "f"), 7)},
			},
		},
		{
			name: "namespaces",
			pod: objects.Pod("p").With(withAffinity(&v1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{elsewhere, bySelector, all}})).Build(),
			want: affinityView{Affinity: []termView{
				{Namespaces: []string{"x", "y"}, Selector: "app=web", TopologyKey: "zone"},
				{Namespaces: []string{}, Selector: "app=web", NamespaceSelector: "team=a", TopologyKey: "zone"},
				{Namespaces: []string{}, Selector: "app=web", NamespaceSelector: "", TopologyKey: "zone"},
			}},
		},
		{
			name: "a broken term empties its list and no other",
			pod: objects.Pod("p").With(withAffinity(&v1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term("zone", "a"), brokenTerm()},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
					{Weight: 3, PodAffinityTerm: term("zone", "c")}},
			})).Build(),
			want:       affinityView{PreferredAffinity: []termView{weighted(view("zone", "c"), 3)}},
			wantErrors: []string{"pod default/p: required pod affinity:"},
		},
		{
			name: "every broken list is named",
			pod: objects.Pod("p").With(withAffinity(&v1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{brokenTerm()},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{PodAffinityTerm: brokenTerm()}},
			})).With(withAntiAffinity(&v1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{brokenTerm()},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{PodAffinityTerm: brokenTerm()}},
			})).Build(),
			wantErrors: []string{"pod default/p: required pod affinity:", "pod default/p: required pod anti-affinity:",
				"pod default/p: preferred pod affinity:", "pod default/p: preferred pod anti-affinity:"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			info, err := framework.NewPodInfo(test.pod)
			if info.GetPod() != test.pod {
				t.Errorf("GetPod = %v, want the pod itself", info.GetPod())
			}
			if diff := cmp.Diff(test.want, viewAffinity(info)); diff != "" {
				t.Errorf("terms (-want +got):\n%s", diff)
			}
			checkErrors(t, err, test.wantErrors)
		})
	}
}

// checkErrors compares the lines of an error with the wanted starts of lines.
func checkErrors(t *testing.T, err error, want []string) {
	t.Helper()
	var lines []string
	if err != nil {
		lines = strings.Split(err.Error(), "\n")
	}
	if !slices.EqualFunc(lines, want, strings.HasPrefix) {
		t.Errorf("error = %q, want lines that start with %q", lines, want)
	}
}

func TestPodInfoUpdate(t *testing.T) {
	required := func(app string) func(*v1.Pod) {
		return withAffinity(&v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term("zone", app)}})
	}
	first := objects.Pod("p").With(required("a")).Build()
	info, err := framework.NewPodInfo(first)
	if err != nil {
		t.Fatal(err)
	}
	second := objects.Pod("p").With(required("b")).With(withAntiAffinity(&v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{brokenTerm()}})).Build()
	checkErrors(t, info.Update(second), []string{"pod default/p: required pod anti-affinity:"})
	want := affinityView{Affinity: []termView{{Namespaces: []string{"default"}, Selector: "app=b", TopologyKey: "zone"}}}
	if diff := cmp.Diff(want, viewAffinity(info)); diff != "" {
		t.Errorf("after Update (-want +got):\n%s", diff)
	}
	if info.GetPod() != second {
		t.Error("after Update the pod is still the old one")
	}
	if err := info.Update(objects.Pod("p").Build()); err != nil {
		t.Errorf("Update to a pod without affinity: %v", err)
	}
	if diff := cmp.Diff(affinityView{}, viewAffinity(info)); diff != "" {
		t.Errorf("terms of a pod without affinity (-want +got):\n%s", diff)
	}
}

func TestHostPorts(t *testing.T) {
	ports := func(host ...int32) (ports []v1.ContainerPort) {
		for _, port := range host {
			ports = append(ports, v1.ContainerPort{ContainerPort: 80, HostPort: port})
		}
		return ports
	}
	tests := []struct {
		name string
		pod  *v1.Pod
		want []v1.ContainerPort
	}{
		{name: "none", pod: objects.Pod("p").Container("a").ContainerPort(v1.ContainerPort{ContainerPort: 80}).Build()},
		{
			name: "sidecars first, then containers, in order",
			pod: objects.Pod("p").Container("a").Sidecar("sidecar").InitContainer("init").Sidecar("sidecar").Container("b").With(func(pod *v1.Pod) {
				pod.Spec.Containers[0].Ports = ports(1, 0, 2)
				pod.Spec.Containers[1].Ports = ports(3, 1)
				pod.Spec.InitContainers[0].Ports = ports(4)
				pod.Spec.InitContainers[1].Ports = ports(5)
				pod.Spec.InitContainers[2].Ports = ports(0, 6)
			}).Build(),
			want: ports(4, 6, 1, 2, 3, 1),
		},
		{
			name: "an init container that is restarted only after a failure is no sidecar",
			pod: objects.Pod("p").InitContainer("init").With(func(pod *v1.Pod) {
				pod.Spec.InitContainers[0].RestartPolicy = ptr.To(v1.ContainerRestartPolicyOnFailure)
				pod.Spec.InitContainers[0].Ports = ports(1)
			}).Build(),
		},
		{
			name: "negative ports are none",
			pod:  objects.Pod("p").Container("a").ContainerPort(v1.ContainerPort{HostPort: -1}).Build(),
		},
		{
			name: "kept as written",
			pod:  objects.Pod("p").Container("a").ContainerPort(v1.ContainerPort{Name: "dns", HostPort: 53, HostIP: "127.0.0.1", Protocol: v1.ProtocolUDP}).Build(),
			want: []v1.ContainerPort{{Name: "dns", HostPort: 53, HostIP: "127.0.0.1", Protocol: v1.ProtocolUDP}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, framework.HostPorts(test.pod)); diff != "" {
				t.Errorf("HostPorts (-want +got):\n%s", diff)
			}
		})
	}
}

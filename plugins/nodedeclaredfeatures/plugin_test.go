// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodedeclaredfeatures

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// byHostname is a feature that pods need whose hostname is its name.
type byHostname struct {
	ndf.Feature
	name string
	max  *version.Version
}

func (f byHostname) Name() string                             { return f.name }
func (f byHostname) MaxVersion() *version.Version             { return f.max }
func (f byHostname) InferForScheduling(pod *ndf.PodInfo) bool { return pod.Spec.Hostname == f.name }

func needing(feature string) *v1.Pod {
	return objects.Pod("p").With(func(pod *v1.Pod) { pod.Spec.Hostname = feature }).Build()
}

// Real features that pods can need.
const (
	userNamespaces = "UserNamespacesHostNetworkSupport"
	restartAll     = "RestartAllContainersOnContainerExits"
	mountOptions   = "VolumeBindMountOptions"
)

func usingUserNamespaces(pod *v1.Pod) {
	pod.Spec.HostNetwork, pod.Spec.HostUsers = true, new(bool)
}

func usingMountOptions(pod *v1.Pod) {
	pod.Spec.Containers = []v1.Container{{Name: "c", VolumeMounts: []v1.VolumeMount{{Name: "v", BindMountOptions: []string{"nosuid"}}}}}
}

func newPlugin(t *testing.T) *plugin {
	t.Helper()
	built, err := New(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return built.(*plugin)
}

func declaring(features ...string) *framework.NodeInfo {
	slices.Sort(features)
	return fixture.NodeInfo(objects.Node("n").With(func(node *v1.Node) { node.Status.DeclaredFeatures = features }).Build())
}

func TestFilter(t *testing.T) {
	missing := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) didn't match Pod's required features")
	both := objects.Pod("p").With(usingUserNamespaces).With(usingMountOptions).Build()
	tests := []struct {
		name string
		pod  *v1.Pod
		node *framework.NodeInfo
		want *fwk.Status
	}{
		{"the node has exactly what is needed", both, declaring(userNamespaces, mountOptions), nil},
		{"the node has more than is needed", objects.Pod("p").With(usingMountOptions).Build(), declaring(userNamespaces, mountOptions, restartAll), nil},
		{"the node lacks something", both, declaring(userNamespaces), missing},
		{"the node has something else", objects.Pod("p").With(usingMountOptions).Build(), declaring(userNamespaces), missing},
		{"the node declares nothing", objects.Pod("p").With(usingUserNamespaces).Build(), declaring(), missing},
		{"the node declares an unknown feature", objects.Pod("p").With(usingUserNamespaces).Build(), declaring("Unheard", userNamespaces), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := newPlugin(t), framework.NewCycleState()
			result, status := pl.PreFilter(t.Context(), state, tt.pod, nil)
			fixture.CheckStatus(t, status, nil)
			if result != nil || pl.PreFilterExtensions() != nil {
				t.Errorf("got result %v and extensions %v, want neither", result, pl.PreFilterExtensions())
			}
			fixture.CheckStatus(t, pl.Filter(t.Context(), state.Clone(), tt.pod, tt.node), tt.want)
		})
	}
	t.Run("state missing", func(t *testing.T) {
		if status := newPlugin(t).Filter(t.Context(), framework.NewCycleState(), both, declaring()); !status.IsError() {
			t.Errorf("got %v, want Error", status.Code())
		}
	})
	t.Run("sets that can't be compared", func(t *testing.T) {
		pl := &plugin{known: ndf.New([]ndf.Feature{byHostname{name: "a"}}), version: version.MajorMinor(1, 37)}
		state := framework.NewCycleState()
		_, status := pl.PreFilter(t.Context(), state, needing("a"), nil)
		fixture.CheckStatus(t, status, nil)
		if status := pl.Filter(t.Context(), state, needing("a"), declaring()); !status.IsError() {
			t.Errorf("got %v, want Error", status.Code())
		}
	})
}

func TestPreFilter(t *testing.T) {
	known := ndf.New([]ndf.Feature{
		byHostname{name: "Current"}, byHostname{name: "Ending", max: version.MajorMinor(1, 37)}, byHostname{name: "Past", max: version.MajorMinor(1, 36)},
	})
	tests := []struct {
		name string
		pod  *v1.Pod
		want fwk.Code
	}{
		{"nothing needed: skip", objects.Pod("p").Build(), fwk.Skip},
		{"a feature", needing("Current"), fwk.Success},
		{"a feature at its maximum version", needing("Ending"), fwk.Success},
		{"a feature past its maximum version: skip", needing("Past"), fwk.Skip},
	}
	pl := &plugin{known: known, version: version.MajorMinor(1, 37)}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, status := pl.PreFilter(t.Context(), framework.NewCycleState(), tt.pod, nil)
			fixture.CheckStatus(t, status, fwk.NewStatus(tt.want))
		})
	}
	t.Run("inference fails", func(t *testing.T) {
		if _, status := (&plugin{known: known}).PreFilter(t.Context(), framework.NewCycleState(), needing("Current"), nil); !status.IsError() {
			t.Errorf("got %v, want Error", status.Code())
		}
	})
	t.Run("what the library knows", func(t *testing.T) {
		restart := objects.Pod("p").Container("a").With(func(pod *v1.Pod) {
			pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
		}).Build()
		for feature, pod := range map[string]*v1.Pod{
			userNamespaces: objects.Pod("p").With(usingUserNamespaces).Build(),
			mountOptions:   objects.Pod("p").With(usingMountOptions).Build(),
			restartAll:     restart,
		} {
			pl, state := newPlugin(t), framework.NewCycleState()
			_, status := pl.PreFilter(t.Context(), state, pod, nil)
			fixture.CheckStatus(t, status, nil)
			fixture.CheckStatus(t, pl.Filter(t.Context(), state, pod, declaring(feature)), nil)
		}
	})
}

func TestClusterVersion(t *testing.T) {
	tests := map[string]string{
		"v1.38.2":                   "1.38.2",
		"v1.40.0-alpha.1+abc":       "1.40.0-alpha.1+abc",
		"v0.0.0-master+$Format:%H$": "1.37", // nothing was set
		"v0.3.0":                    "1.37", // the version of something else
		"":                          "1.37",
	}
	for linked, want := range tests {
		if got := clusterVersion(linked).String(); got != want {
			t.Errorf("%q: got %s, want %s", linked, got, want)
		}
	}
}

func TestSignPod(t *testing.T) {
	pl := newPlugin(t)
	sign := func(pod *v1.Pod) []fwk.SignFragment {
		t.Helper()
		fragments, status := pl.SignPod(t.Context(), pod)
		fixture.CheckStatus(t, status, nil)
		if len(fragments) != 1 || fragments[0].Key != fwk.FeaturesSignerName {
			t.Fatalf("got fragments %v, want one with key %s", fragments, fwk.FeaturesSignerName)
		}
		return fragments
	}
	required, err := pl.required(objects.Pod("p").With(usingMountOptions).Build())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(required.String(), sign(objects.Pod("p").With(usingMountOptions).Build())[0].Value); diff != "" {
		t.Errorf("the signature differs from the set (-want +got):\n%s", diff)
	}
	if cmp.Equal(sign(objects.Pod("p").With(usingMountOptions).Build()), sign(objects.Pod("p").With(usingUserNamespaces).Build())) {
		t.Error("pods that need different features sign alike")
	}
	if !cmp.Equal(sign(objects.Pod("p").Build()), sign(objects.Pod("q").Container("a", "cpu", "1").Build())) {
		t.Error("pods that need nothing sign differently")
	}
	if _, status := (&plugin{known: ndf.DefaultFramework}).SignPod(t.Context(), objects.Pod("p").Build()); !status.IsError() {
		t.Errorf("inference fails: got %v, want Error", status.Code())
	}
}

func BenchmarkPreFilter(b *testing.B) {
	built, err := New(b.Context(), nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	pl, state, pod, ctx := built.(*plugin), framework.NewCycleState(), objects.Pod("p").Container("a", "cpu", "1").Build(), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		pl.PreFilter(ctx, state, pod, nil)
	}
}

// BenchmarkFilter filters 1000 nodes in each iteration.
func BenchmarkFilter(b *testing.B) {
	built, err := New(b.Context(), nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	var nodes []*framework.NodeInfo
	for range 1000 {
		nodes = append(nodes, declaring(mountOptions))
	}
	pl, state, pod, ctx := built.(*plugin), framework.NewCycleState(), objects.Pod("p").With(usingMountOptions).Build(), b.Context()
	pl.PreFilter(ctx, state, pod, nil)
	b.ReportAllocs()
	for b.Loop() {
		for _, info := range nodes {
			pl.Filter(ctx, state, pod, info)
		}
	}
}

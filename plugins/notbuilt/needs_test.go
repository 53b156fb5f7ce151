// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package notbuilt_test

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/notbuilt"
)

// gate is what stand-ins with needs implement.
type gate interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
}

// checkNeed runs PreFilter and Filter. An empty reason means that the pod passes and is skipped; atFilter means that
// PreFilter lets it through and Filter rejects it.
func checkNeed(t *testing.T, plugin fwk.Plugin, pod *v1.Pod, wantReason string, atFilter bool) {
	t.Helper()
	var rejected *fwk.Status
	if wantReason != "" {
		reason := fmt.Sprintf("pod %s, which needs plugin %s; this version of Rouse does not have it yet", wantReason, plugin.Name())
		rejected = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
	}
	wantPreFilter := rejected
	if rejected == nil {
		wantPreFilter = fwk.NewStatus(fwk.Skip)
	}
	if atFilter {
		wantPreFilter = nil
	}
	standIn := plugin.(gate)
	result, status := standIn.PreFilter(t.Context(), framework.NewCycleState(), pod, nil)
	if result != nil || standIn.PreFilterExtensions() != nil {
		t.Errorf("got PreFilter result %v and extensions %v, want neither", result, standIn.PreFilterExtensions())
	}
	fixture.CheckStatus(t, status, wantPreFilter)
	fixture.CheckStatus(t, standIn.Filter(t.Context(), framework.NewCycleState(), pod, fixture.NodeInfo(fixture.Node("n"))), rejected)
}

func build(t *testing.T, plugin fwk.Plugin, err error) fwk.Plugin {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return plugin
}

func volume(source v1.VolumeSource) *v1.Pod {
	return fixture.Pod("p", fixture.Volume("tmp", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), fixture.Volume("vol", source))
}

func volumePlugins(t *testing.T) map[string]fwk.Plugin {
	t.Helper()
	plugins := map[string]fwk.Plugin{}
	for _, create := range []func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error){
		notbuilt.NewVolumeBinding, notbuilt.NewVolumeZone, notbuilt.NewVolumeRestrictions, notbuilt.NewNodeVolumeLimits,
	} {
		plugin, err := create(t.Context(), nil, nil)
		plugins[build(t, plugin, err).Name()] = plugin
	}
	return plugins
}

func TestVolumeNeeds(t *testing.T) {
	plugins := volumePlugins(t)
	type reasons struct {
		reason  string
		rejects []string // at PreFilter
		perNode []string // at Filter
		passes  []string
	}
	const (
		binding, zone  = notbuilt.VolumeBinding, notbuilt.VolumeZone
		shared, limits = notbuilt.VolumeRestrictions, notbuilt.NodeVolumeLimits
	)
	claim := v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}
	inline := func(kind string) string { return fmt.Sprintf(`uses %s volume "vol" (spec.volumes[1])`, kind) }
	none := []string{binding, zone, shared, limits}
	tests := map[string]struct {
		source v1.VolumeSource
		want   reasons
	}{
		"config map": {v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}, reasons{passes: none}},
		"inline CSI": {v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "d"}}, reasons{passes: none}},
		"volume claim": {claim, reasons{
			`uses persistentVolumeClaim "data" (spec.volumes[1])`, []string{binding}, []string{zone, shared, limits}, nil,
		}},
		"ephemeral": {v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}, reasons{
			`uses ephemeral volume "vol" (spec.volumes[1])`, []string{binding}, []string{limits}, []string{zone, shared},
		}},
		"gcePersistentDisk": {v1.VolumeSource{GCEPersistentDisk: &v1.GCEPersistentDiskVolumeSource{}}, reasons{
			inline("gcePersistentDisk"), []string{shared, limits}, nil, []string{binding, zone},
		}},
		"awsElasticBlockStore": {v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{}}, reasons{
			inline("awsElasticBlockStore"), []string{shared, limits}, nil, []string{binding, zone},
		}},
		"rbd": {v1.VolumeSource{RBD: &v1.RBDVolumeSource{}}, reasons{
			inline("rbd"), []string{shared}, nil, []string{binding, zone, limits},
		}},
		"iscsi": {v1.VolumeSource{ISCSI: &v1.ISCSIVolumeSource{}}, reasons{
			inline("iscsi"), []string{shared}, nil, []string{binding, zone, limits},
		}},
		"azureDisk": {v1.VolumeSource{AzureDisk: &v1.AzureDiskVolumeSource{}}, reasons{
			inline("azureDisk"), []string{limits}, nil, []string{binding, zone, shared},
		}},
		"cinder": {v1.VolumeSource{Cinder: &v1.CinderVolumeSource{}}, reasons{
			inline("cinder"), []string{limits}, nil, []string{binding, zone, shared},
		}},
		"portworxVolume": {v1.VolumeSource{PortworxVolume: &v1.PortworxVolumeSource{}}, reasons{
			inline("portworxVolume"), []string{limits}, nil, []string{binding, zone, shared},
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod := volume(tt.source)
			for _, plugin := range tt.want.rejects {
				checkNeed(t, plugins[plugin], pod, tt.want.reason, false)
			}
			for _, plugin := range tt.want.perNode {
				checkNeed(t, plugins[plugin], pod, tt.want.reason, true)
			}
			for _, plugin := range tt.want.passes {
				checkNeed(t, plugins[plugin], pod, "", false)
			}
		})
	}
}

func TestPodTopologySpreadNeeds(t *testing.T) {
	constraint := func(key string, when v1.UnsatisfiableConstraintAction) v1.TopologySpreadConstraint {
		return v1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: when}
	}
	spread := func(constraints ...v1.TopologySpreadConstraint) *v1.Pod {
		return fixture.Pod("p", func(pod *v1.Pod) { pod.Spec.TopologySpreadConstraints = constraints })
	}
	list := &configv1.PodTopologySpreadArgs{
		DefaultingType:     configv1.ListDefaulting,
		DefaultConstraints: []v1.TopologySpreadConstraint{constraint("rack", v1.DoNotSchedule)},
	}
	tests := []struct {
		name string
		args apiruntime.Object
		pod  *v1.Pod
		want string
	}{
		{"no constraints, system defaults", nil, spread(), ""},
		{"only preferences", nil, spread(constraint("zone", v1.ScheduleAnyway)), ""},
		{"second constraint is hard", nil, spread(constraint("zone", v1.ScheduleAnyway), constraint("host", v1.DoNotSchedule)),
			`has a topology spread constraint on "host" with whenUnsatisfiable DoNotSchedule (spec.topologySpreadConstraints[1])`},
		{"hard constraint of the profile", list, spread(),
			`gets the profile's topology spread constraint on "rack" with whenUnsatisfiable DoNotSchedule (defaultConstraints[0])`},
		{"own constraints replace the profile's", list, spread(constraint("zone", v1.ScheduleAnyway)), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plugin, err := notbuilt.NewPodTopologySpread(t.Context(), tt.args, nil)
			checkNeed(t, build(t, plugin, err), tt.pod, tt.want, false)
		})
	}
	if _, err := notbuilt.NewPodTopologySpread(t.Context(), &configv1.NodeAffinityArgs{}, nil); err == nil {
		t.Error("arguments of another plugin: got no error")
	}
}

func TestInterPodAffinityNeeds(t *testing.T) {
	selector := func(pairs ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{pairs[0]: pairs[1]}}
	}
	term := v1.PodAffinityTerm{LabelSelector: selector("app", "web"), TopologyKey: "zone"}
	affinity := func(change func(*v1.Affinity)) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Spec.Affinity = &v1.Affinity{}
			change(pod.Spec.Affinity)
		}
	}
	anti := func(term v1.PodAffinityTerm) func(*v1.Pod) {
		return affinity(func(a *v1.Affinity) {
			a.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}
		})
	}
	required := affinity(func(a *v1.Affinity) {
		a.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}
	})
	preferred := affinity(func(a *v1.Affinity) {
		weighted := []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}}
		a.PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted}
		a.PodAntiAffinity = &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted}
	})
	web := fixture.Labelled(map[string]string{"app": "web"})
	with := func(change func(*v1.PodAffinityTerm)) v1.PodAffinityTerm {
		changed := term
		change(&changed)
		return changed
	}
	const matched = "is matched by the required pod anti-affinity of pod default/other on a node " +
		"(spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution of that pod)"

	tests := []struct {
		name   string
		pod    *v1.Pod
		onNode *v1.Pod
		want   string
	}{
		{"nothing", fixture.Pod("p", web), nil, ""},
		{"only preferences", fixture.Pod("p", preferred), nil, ""},
		{"required affinity", fixture.Pod("p", required), nil,
			"has required pod affinity (spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution)"},
		{"required anti-affinity", fixture.Pod("p", anti(term)), nil,
			"has required pod anti-affinity (spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution)"},
		{"other pod has preferences", fixture.Pod("p", web), fixture.Pod("other", preferred), ""},
		{"other pod has required affinity", fixture.Pod("p", web), fixture.Pod("other", required), ""},
		{"other pod's anti-affinity matches", fixture.Pod("p", web), fixture.Pod("other", anti(term)), matched},
		{"other pod's anti-affinity, other labels", fixture.Pod("p"), fixture.Pod("other", anti(term)), ""},
		{"other pod's anti-affinity, other namespace", fixture.Pod("p", web),
			fixture.Pod("other", anti(with(func(t *v1.PodAffinityTerm) { t.Namespaces = []string{"elsewhere"} }))), ""},
		{"other pod's anti-affinity, this namespace named", fixture.Pod("p", web),
			fixture.Pod("other", anti(with(func(t *v1.PodAffinityTerm) { t.Namespaces = []string{"elsewhere", "default"} }))), matched},
		{"other pod's anti-affinity, namespaces by label may match", fixture.Pod("p", web),
			fixture.Pod("other", anti(with(func(t *v1.PodAffinityTerm) { t.NamespaceSelector = selector("team", "a") }))), matched},
		{"other pod's anti-affinity, all namespaces", fixture.Pod("p", web),
			fixture.Pod("other", anti(with(func(t *v1.PodAffinityTerm) { t.NamespaceSelector = &metav1.LabelSelector{} }))), matched},
		{"other pod's anti-affinity without selector", fixture.Pod("p", web),
			fixture.Pod("other", anti(with(func(t *v1.PodAffinityTerm) { t.LabelSelector = nil }))), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			handle := &fixture.Handle{}
			if tt.onNode != nil {
				handle.Nodes.Infos = []*framework.NodeInfo{fixture.NodeInfo(fixture.Node("n"), tt.onNode)}
			}
			plugin, err := notbuilt.NewInterPodAffinity(t.Context(), nil, handle)
			checkNeed(t, build(t, plugin, err), tt.pod, tt.want, false)
		})
	}
	t.Run("snapshot fails", func(t *testing.T) {
		handle := &fixture.Handle{Nodes: fixture.Nodes{Err: fmt.Errorf("broken")}}
		plugin, err := notbuilt.NewInterPodAffinity(t.Context(), nil, handle)
		if _, status := build(t, plugin, err).(gate).PreFilter(t.Context(), nil, fixture.Pod("p"), nil); !status.IsError() {
			t.Errorf("got %v, want Error", status.Code())
		}
	})
}

func TestNodeDeclaredFeaturesNeeds(t *testing.T) {
	hostUsers := fixture.Pod("p", func(pod *v1.Pod) {
		pod.Spec.HostNetwork = true
		pod.Spec.HostUsers = ptr.To(false)
	})
	plugin, err := notbuilt.NewNodeDeclaredFeatures(t.Context(), nil, nil)
	build(t, plugin, err)
	checkNeed(t, plugin, fixture.Pod("p", fixture.Container()), "", false)
	checkNeed(t, plugin, hostUsers, "requires the node features [UserNamespacesHostNetworkSupport] (spec)", false)
}

func TestDynamicResourcesNeeds(t *testing.T) {
	dra := &fixture.DeviceClasses{Serving: map[v1.ResourceName]string{"example.com/gpu": "gpus", "example.com/nic": "nics"}}
	withClaim := fixture.Pod("p", func(pod *v1.Pod) { pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}} })
	tests := []struct {
		name string
		dra  fwk.SharedDRAManager
		pod  *v1.Pod
		want string
	}{
		{"nothing", dra, fixture.Pod("p", fixture.Container("cpu", "1")), ""},
		{"resource claim", nil, withClaim, `uses resource claim "gpu" (spec.resourceClaims[0])`},
		{"extended resource without classes", nil, fixture.Pod("p", fixture.Container("example.com/gpu", "1")), ""},
		{"extended resource served by devices", dra, fixture.Pod("p", fixture.Container("example.com/nic", "1", "example.com/gpu", "1")),
			"requests example.com/gpu, which a DeviceClass serves (spec.containers)"},
		{"none of an extended resource", dra, fixture.Pod("p", fixture.Container("example.com/gpu", "0")), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plugin, err := notbuilt.NewDynamicResources(t.Context(), nil, &fixture.Handle{DRA: tt.dra})
			checkNeed(t, build(t, plugin, err), tt.pod, tt.want, false)
		})
	}
}

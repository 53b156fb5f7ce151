// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"
)

func TestValidateArgs(t *testing.T) {
	const shapeStart = "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: "
	tests := []struct {
		name, plugin, args string
		want               []string // without the path of the arguments; nil is valid
	}{
		{"percentage", "DefaultPreemption", "{minCandidateNodesPercentage: 101}", []string{
			`minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]`,
		}},
		{"absolute", "DefaultPreemption", "{minCandidateNodesAbsolute: -1}", []string{
			`minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)`,
		}},
		{"both zero", "DefaultPreemption", "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}", []string{
			`minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute`,
			`minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage`,
		}},
		{"one zero", "DefaultPreemption", "{minCandidateNodesPercentage: 0}", nil},

		{"hard weight", "InterPodAffinity", "{hardPodAffinityWeight: -1}", []string{`hardPodAffinityWeight: Invalid value: -1: not in valid range [0, 100]`}},
		{"hard weight at the bound", "InterPodAffinity", "{hardPodAffinityWeight: 100}", nil},

		{"affinity", "NodeAffinity", "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]}}}", nil},

		{"balanced twice", "NodeResourcesBalancedAllocation", "{resources: [{name: cpu}, {name: cpu, weight: 1}]}", []string{`resources[1].name: Duplicate value: "cpu"`}},
		{"balanced weight", "NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}]}", []string{`resources[0].weight: Invalid value: 2: must be 1`}},

		{"spread type", "PodTopologySpread", "{defaultingType: Some}", []string{`defaultingType: Unsupported value: "Some": supported values: "System", "List"`}},
		{"spread system with constraints", "PodTopologySpread", "{defaultConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]}", []string{
			`defaultingType: Invalid value: "System": when .defaultConstraints are not empty`,
		}},
		{"spread constraints", "PodTopologySpread", "{defaultingType: List, defaultConstraints: [{maxSkew: 0, whenUnsatisfiable: x}, {maxSkew: 1, topologyKey: z, labelSelector: {}}]}", []string{
			`defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)`,
			`defaultConstraints[0].topologyKey: Required value: can not be empty`,
			`defaultConstraints[0].whenUnsatisfiable: Unsupported value: "x": supported values: "DoNotSchedule", "ScheduleAnyway"`,
			`defaultConstraints[1].whenUnsatisfiable: Required value: can not be empty`,
			`defaultConstraints[1].labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod`,
		}},
		{"spread twice", "PodTopologySpread", "{defaultingType: List, defaultConstraints: [&c {maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}, *c, {maxSkew: 2, topologyKey: z, whenUnsatisfiable: ScheduleAnyway}]}", []string{
			`defaultConstraints[1]: Duplicate value: "{z, DoNotSchedule}"`,
		}},

		{"bind timeout", "VolumeBinding", "{bindTimeoutSeconds: -1}", []string{
			`bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value`,
		}},
		{"volume shape", "VolumeBinding", "{shape: [{utilization: 50, score: 11}, {utilization: 50, score: -1}, {utilization: 101, score: 0}]}", []string{
			`shape[1].utilization: Invalid value: 50: values must be sorted in increasing order`,
			`shape[0].score: Invalid value: 11: not in valid range [0, 10]`,
			`shape[1].score: Invalid value: -1: not in valid range [0, 10]`,
			`shape[2].utilization: Invalid value: 101: not in valid range [0, 100]`,
		}},
		{"volume shape falls twice: reported once", "VolumeBinding", "{shape: [{utilization: 3, score: 1}, {utilization: 2, score: 1}, {utilization: 1, score: 1}]}", []string{
			`shape[1].utilization: Invalid value: 2: values must be sorted in increasing order`,
		}},

		{"DRA timeouts", "DynamicResources", "{filterTimeout: -1s, bindingTimeout: 999ms}", []string{
			`filterTimeout: Invalid value: "-1s": must be zero or positive`,
			`bindingTimeout: Invalid value: "999ms": must be at least 1 second`,
		}},
		{"DRA timeouts at the bounds", "DynamicResources", "{filterTimeout: 0s, bindingTimeout: 1s}", nil},

		{"fit strategy without type", "NodeResourcesFit", "{scoringStrategy: {}}", []string{
			`scoringStrategy.type: Unsupported value: "": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"`,
		}},
		{"fit weights", "NodeResourcesFit", "{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 101}, {name: memory, weight: -1}, {name: a.b/c, weight: 100}]}}", []string{
			`scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]`,
			`scoringStrategy.resources[1].weight: Invalid value: -1: resource weight of memory not in valid range (0, 100]`,
		}},
		{"fit ratio missing", "NodeResourcesFit", "{scoringStrategy: {type: RequestedToCapacityRatio}}", []string{
			`scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio`,
		}},
		{"fit ratio not wanted", "NodeResourcesFit", "{scoringStrategy: {type: MostAllocated, requestedToCapacityRatio: {}}}", []string{
			`scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not RequestedToCapacityRatio`,
		}},
		{"fit ratio without shape", "NodeResourcesFit", shapeStart + "[]}}}", []string{
			`scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified`,
		}},
		{"fit ratio with a bad shape", "NodeResourcesFit", shapeStart + "[{utilization: 0, score: 0}, {utilization: -1, score: 10}]}}}", []string{
			`scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: -1: values must be sorted in increasing order`,
			`scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: -1: not in valid range [0, 100]`,
		}},
		{"fit ratio", "NodeResourcesFit", shapeStart + "[{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}", nil},
		{"fit resource groups", "NodeResourcesFit", "{ignoredResourceGroups: [example.com, a/b]}", []string{
			`ignoredResourceGroups[1]: Invalid value: "a/b": resource group name can't contain '/'`,
		}},
	}
	for _, test := range tests {
		t.Run(test.plugin+" "+test.name, func(t *testing.T) {
			_, err := parse(t, "profiles: [{pluginConfig: [{name: "+test.plugin+", args: "+test.args+"}]}]\n")
			got := withoutPositions(t, err)
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], "profiles[0].pluginConfig[0].args.")
			}
			if diff := cmp.Diff(sorted(test.want), sorted(got)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// TestValidateArgsFragments has the errors whose end is worded by a library.
func TestValidateArgsFragments(t *testing.T) {
	tests := []struct{ name, plugin, args, want string }{
		{
			"required affinity", "NodeAffinity",
			"{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Is}]}]}}}",
			`config.yaml:3:170: profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Is"`,
		},
		{
			"preferred affinity", "NodeAffinity",
			"{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a b, operator: Exists}]}}]}}",
			`.preferredDuringSchedulingIgnoredDuringExecution[0].matchExpressions[0].key: Invalid value: "a b"`,
		},
		{
			"topology key", "PodTopologySpread", "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a b, whenUnsatisfiable: DoNotSchedule}]}",
			`.defaultConstraints[0].topologyKey: Invalid value: "a b": name part must consist of`,
		},
		{
			"ignored resource", "NodeResourcesFit", "{ignoredResources: [a.b/c, -x]}",
			`.ignoredResources[1]: Invalid value: "-x": name part must consist of`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(t, "profiles: [{pluginConfig: [{name: "+test.plugin+", args: "+test.args+"}]}]\n")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Parse = %v\nwant an error with %s", err, test.want)
			}
		})
	}
}

// TestFeaturesSwitchedOff checks that settings of what is switched off are refused, and have no default.
func TestFeaturesSwitchedOff(t *testing.T) {
	off := Features{NoStorageCapacityScoring: true, NoFilterTimeout: true, NoBindingConditions: true}
	for _, test := range []struct {
		plugin, args string
		features     Features
		want         string
	}{
		{"DynamicResources", "{filterTimeout: 5s}", Features{NoFilterTimeout: true}, "filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled"},
		{"DynamicResources", "{filterTimeout: 0s}", Features{NoFilterTimeout: true}, "filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled"},
		{"DynamicResources", "{filterTimeout: 5s}", Features{NoStorageCapacityScoring: true, NoBindingConditions: true}, ""},
		{"DynamicResources", "{bindingTimeout: 5s}", Features{NoBindingConditions: true},
			"bindingTimeout: Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"},
		{"DynamicResources", "{bindingTimeout: 5s}", Features{NoStorageCapacityScoring: true, NoFilterTimeout: true}, ""},
		{"VolumeBinding", "{shape: [{utilization: 0, score: 1}]}", Features{NoStorageCapacityScoring: true},
			"unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"},
		{"VolumeBinding", "{shape: [{utilization: 0, score: 1}]}", Features{NoFilterTimeout: true, NoBindingConditions: true}, ""},
		{"VolumeBinding", "{bindTimeoutSeconds: 5}", off, ""},
		{"DynamicResources", "{}", off, ""},
	} {
		text := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" +
			"profiles: [{pluginConfig: [{name: " + test.plugin + ", args: " + test.args + "}]}]\n"
		_, err := Parse("config.yaml", []byte(text), Options{Features: test.features})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %s with %+v: error %v, want %q", test.plugin, test.args, test.features, err, test.want)
		}
	}
	defaulted := off.Default()
	want := &configv1.DynamicResourcesArgs{}
	want.SetGroupVersionKind(kindFor("DynamicResources"))
	if diff := cmp.Diff(want, defaulted.Profiles[0].Args("DynamicResources")); diff != "" {
		t.Errorf("default arguments of DynamicResources (-want +got):\n%s", diff)
	}
	if shape := defaulted.Profiles[0].Args("VolumeBinding").(*configv1.VolumeBindingArgs).Shape; shape != nil {
		t.Errorf("the default shape is %v, want none", shape)
	}
	if err := defaulted.Validate(); err != nil {
		t.Errorf("the default configuration is not valid: %v", err)
	}
}

func sorted(texts []string) map[string]bool {
	set := make(map[string]bool)
	for _, text := range texts {
		set[text] = true
	}
	return set
}

func TestValidateArgsWithoutPath(t *testing.T) {
	fit := ValidateArgs("NodeResourcesFit", nil, &configv1.NodeResourcesFitArgs{})
	want := "scoringStrategy: Required value: ScoringStrategy field is required"
	if err := fit.ToAggregate(); err == nil || err.Error() != want {
		t.Errorf("ValidateArgs(NodeResourcesFit) = %v, want %s", err, want)
	}
	// Fields that are nil are not looked at.
	for name, err := range map[string]error{
		"DefaultPreemption": ValidateArgs("DefaultPreemption", nil, &configv1.DefaultPreemptionArgs{}).ToAggregate(),
		"DynamicResources":  ValidateArgs("DynamicResources", nil, &configv1.DynamicResourcesArgs{}).ToAggregate(),
		"InterPodAffinity":  ValidateArgs("InterPodAffinity", nil, &configv1.InterPodAffinityArgs{}).ToAggregate(),
		"NodeAffinity":      ValidateArgs("NodeAffinity", nil, &configv1.NodeAffinityArgs{}).ToAggregate(),
		"VolumeBinding":     ValidateArgs("VolumeBinding", nil, &configv1.VolumeBindingArgs{Shape: []configv1.UtilizationShapePoint{{}}}).ToAggregate(),
	} {
		if err != nil {
			t.Errorf("empty args of %s: %v", name, err)
		}
	}
	err := ValidateArgs("DynamicResources", nil, &configv1.DynamicResourcesArgs{BindingTimeout: ptr.To(metav1.Duration{Duration: time.Millisecond})})
	if len(err) != 1 || err[0].Field != "bindingTimeout" {
		t.Errorf("ValidateArgs(DynamicResources) = %v", err)
	}
	if err := ValidateArgs("NodeAffinity", nil, &configv1.DynamicResourcesArgs{}); len(err) != 1 {
		t.Errorf("arguments of another plugin: %v, want an error", err)
	}
	if err := ValidateArgs("NodeName", nil, &configv1.NodeAffinityArgs{}); len(err) != 0 {
		t.Errorf("arguments of a plugin that has none: %v, want no error", err)
	}
}

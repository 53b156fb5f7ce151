// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"
)

// Defaults of plugin arguments.
const (
	defaultMinCandidateNodesPercentage = 10
	defaultMinCandidateNodesAbsolute   = 100
	defaultHardPodAffinityWeight       = 1
	defaultBindTimeoutSeconds          = 600
)

func defaultDefaultPreemptionArgs(args *configv1.DefaultPreemptionArgs, _ Features) {
	setDefault(&args.MinCandidateNodesPercentage, defaultMinCandidateNodesPercentage)
	setDefault(&args.MinCandidateNodesAbsolute, defaultMinCandidateNodesAbsolute)
}

func defaultDynamicResourcesArgs(args *configv1.DynamicResourcesArgs, features Features) {
	if !features.NoFilterTimeout {
		setDefault(&args.FilterTimeout, metav1.Duration{Duration: configv1.DynamicResourcesFilterTimeoutDefault})
	}
	if !features.NoBindingConditions {
		setDefault(&args.BindingTimeout, metav1.Duration{Duration: configv1.DynamicResourcesBindingTimeoutDefault})
	}
}

func defaultInterPodAffinityArgs(args *configv1.InterPodAffinityArgs, _ Features) {
	setDefault(&args.HardPodAffinityWeight, defaultHardPodAffinityWeight)
}

func defaultNodeAffinityArgs(*configv1.NodeAffinityArgs, Features) {}

func defaultBalancedAllocationArgs(args *configv1.NodeResourcesBalancedAllocationArgs, _ Features) {
	args.Resources = defaultedResources(args.Resources)
}

func defaultNodeResourcesFitArgs(args *configv1.NodeResourcesFitArgs, _ Features) {
	if args.ScoringStrategy == nil {
		args.ScoringStrategy = &configv1.ScoringStrategy{Type: configv1.LeastAllocated}
	}
	args.ScoringStrategy.Resources = defaultedResources(args.ScoringStrategy.Resources)
}

func defaultPodTopologySpreadArgs(args *configv1.PodTopologySpreadArgs, _ Features) {
	if args.DefaultingType == "" {
		args.DefaultingType = configv1.SystemDefaulting
	}
}

func defaultVolumeBindingArgs(args *configv1.VolumeBindingArgs, features Features) {
	setDefault(&args.BindTimeoutSeconds, defaultBindTimeoutSeconds)
	if len(args.Shape) == 0 && !features.NoStorageCapacityScoring {
		args.Shape = []configv1.UtilizationShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}}
	}
}

// defaultedResources returns CPU and memory, equally weighted, for an empty list,
// and gives the entries of another one at least weight 1 where none is set.
func defaultedResources(resources []configv1.ResourceSpec) []configv1.ResourceSpec {
	if len(resources) == 0 {
		return []configv1.ResourceSpec{
			{Name: string(v1.ResourceCPU), Weight: 1},
			{Name: string(v1.ResourceMemory), Weight: 1},
		}
	}
	for i := range resources {
		if resources[i].Weight == 0 {
			resources[i].Weight = 1
		}
	}
	return resources
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = ptr.To(value)
	}
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package features_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2/ktesting"

	"github.com/rouse-scheduler/rouse/app/internal/features"
)

// parsed returns the gates that flags set.
func parsed(t *testing.T, flags ...string) (*features.Gates, error) {
	t.Helper()
	gates, err := features.New()
	if err != nil {
		t.Fatal(err)
	}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	gates.AddFlags(set)
	if err := set.Parse(flags); err != nil {
		return nil, err
	}
	return gates, gates.Set()
}

func TestDefaults(t *testing.T) {
	gates, err := parsed(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[featuregate.Feature]bool{
		// the queue and the cycle
		"SchedulerAsyncPreemption": true, "SchedulerPopFromBackoffQ": true, "OpportunisticBatching": true,
		"NominatedNodeNameForExpectation": true, "SchedulerAsyncAPICalls": false, "SchedulerPreQueueingHints": false,
		"CoordinatedLeaderElection": false, "PodSchedulingReadiness": true, "PodObservedGenerationTracking": true,
		// groups
		"GenericWorkload": false, "TopologyAwareWorkloadScheduling": false, "CompositePodGroup": false,
		"PodGroupPreemptionPolicy": false, "DRAWorkloadResourceClaims": false, "WorkloadWithJob": false,
		// pods
		"InPlacePodVerticalScaling": true, "InPlacePodLevelResourcesVerticalScaling": true, "PodLevelResources": true,
		"InPlacePodVerticalScalingSchedulerPreemption": false, "NodeDeclaredFeatures": true,
		"TaintTolerationComparisonOperators": false, "InterPodAffinityHostnameFastPath": false,
		"NodeInclusionPolicyInPodTopologySpread": true, "MatchLabelKeysInPodTopologySpread": true,
		"MatchLabelKeysInPodTopologySpreadSelectorMerge": true, "MatchLabelKeysInPodAffinity": true,
		// volumes
		"StorageCapacityScoring": true, "VolumeAttributesClass": true, "VolumeLimitScaling": true,
		"MutableCSINodeAllocatableCount": true, "MutablePVNodeAffinity": false,
		// devices
		"DynamicResourceAllocation": true, "DRAAdminAccess": true, "DRAPrioritizedList": true, "DRAExtendedResource": true,
		"DRAResourceClaimDeviceStatus": true, "DRADeviceTaints": true, "DRADeviceTaintRules": true,
		"DRAPartitionableDevices": true, "DRAConsumableCapacity": true, "DRADeviceBindingConditions": true,
		"DRASchedulerFilterTimeout": true, "DRAResourceClaimGranularStatusAuthorization": true,
		"DRAFractionalCapacityRange": false, "DRADerivedAttributes": false, "DRADeviceCompatibilityGroups": false,
		"DRAListTypeAttributes": false, "DRANodeAllocatableResources": false, "DRAOptionalNodeOperations": false,
		// the process and its libraries
		"ComponentFlagz": true, "ComponentStatusz": true, "LoggingBetaOptions": true, "LoggingAlphaOptions": false,
		"NativeHistograms": true, "RemoteRequestHeaderUID": true, "CBORServingAndStorage": false, "WatchListClient": true,
		"InOrderInformers": true, "InOrderInformersBatchProcess": true, "AtomicFIFO": true,
		"UnlockWhileProcessingFIFO": true, "InformerResourceVersion": true, "ClientsAllowCARotation": true,
		"ClientsAllowTLSCacheGC": true, "ClientsAllowCBOR": false, "ClientsPreferCBOR": false,
	} {
		if got := gates.Enabled(name); got != want {
			t.Errorf("%s is %t, want %t", name, got, want)
		}
	}
	if names := gates.Ineffective(); len(names) > 0 {
		t.Errorf("without flags, these are switched from their default: %v", names)
	}
}

func TestSet(t *testing.T) {
	for _, test := range []struct {
		name    string
		flags   []string
		wantErr string
		want    map[featuregate.Feature]bool
		// ineffective are the gates that a warning names.
		ineffective []featuregate.Feature
	}{
		{name: "unknown", flags: []string{"--feature-gates=Nope=true"}, wantErr: "unrecognized feature gate: Nope"},
		{
			name: "locked", flags: []string{"--feature-gates=DynamicResourceAllocation=false"},
			wantErr: "cannot set feature gate DynamicResourceAllocation to false, feature is locked to true",
		},
		{name: "locked to what it is", flags: []string{"--feature-gates=DynamicResourceAllocation=true"}},
		{
			name: "without what it needs", flags: []string{"--feature-gates=TopologyAwareWorkloadScheduling=true"},
			wantErr: "TopologyAwareWorkloadScheduling is enabled, but depends on features that are disabled: [GenericWorkload]",
		},
		{
			name: "no value", flags: []string{"--feature-gates=SchedulerPopFromBackoffQ"},
			wantErr: "missing bool value for SchedulerPopFromBackoffQ",
		},
		{
			name: "one that switches something", flags: []string{"--feature-gates=SchedulerPopFromBackoffQ=false"},
			want: map[featuregate.Feature]bool{features.SchedulerPopFromBackoffQ: false},
		},
		{
			name: "two forms, two flags, one that switches nothing",
			flags: []string{
				"--feature-gates=kube:WatchListClient=false,kube:GenericWorkload=true",
				"--feature-gates=kube:SchedulerAsyncAPICalls=true",
			},
			want:        map[featuregate.Feature]bool{"WatchListClient": false, "GenericWorkload": true, "SchedulerAsyncAPICalls": true},
			ineffective: []featuregate.Feature{"GenericWorkload", "SchedulerAsyncAPICalls"},
		},
		{
			name: "a gate that only an API server has", flags: []string{"--feature-gates=WatchList=false"},
			ineffective: []featuregate.Feature{"WatchList"},
		},
		{
			name: "the control plane is new enough", flags: []string{"--min-compatibility-version=1.37"},
			want:        map[featuregate.Feature]bool{"DRAFractionalCapacityRange": true},
			ineffective: nil,
		},
		{name: "a version too old to emulate", flags: []string{"--emulated-version=1.33"}, wantErr: "emulation version 1.33 is not between [1.34, 1.37"},
	} {
		t.Run(test.name, func(t *testing.T) {
			gates, err := parsed(t, test.flags...)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("error %v, want one with %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range test.want {
				if got := gates.Enabled(name); got != want {
					t.Errorf("%s is %t, want %t", name, got, want)
				}
			}
			if diff := cmp.Diff(test.ineffective, gates.Ineffective()); diff != "" {
				t.Errorf("gates without effect (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllAlpha(t *testing.T) {
	gates, err := parsed(t, "--feature-gates=AllAlpha=true,GenericWorkload=true")
	if err != nil {
		t.Fatal(err)
	}
	if !gates.Enabled("SchedulerPreQueueingHints") {
		t.Error("AllAlpha does not open an alpha gate")
	}
	if gates.Enabled("SchedulerAsyncAPICalls") {
		t.Error("AllAlpha opens a beta gate")
	}
}

func TestApplyTellsTheLibrariesAndTheLog(t *testing.T) {
	gates, err := parsed(t, "--feature-gates=WatchListClient=false,OpportunisticBatching=false")
	if err != nil {
		t.Fatal(err)
	}
	before := clientfeatures.FeatureGates()
	t.Cleanup(func() { clientfeatures.ReplaceFeatureGates(before) })
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	if err := gates.Apply(logger); err != nil {
		t.Fatal(err)
	}
	if clientfeatures.FeatureGates().Enabled(clientfeatures.WatchListClient) {
		t.Error("client-go was not told about its gate")
	}
	log := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	if !strings.Contains(log, `featureGate="OpportunisticBatching" value=false`) || strings.Contains(log, "WatchListClient") {
		t.Errorf("the log does not name just the gate without effect:\n%s", log)
	}
}

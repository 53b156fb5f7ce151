// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNamesWithoutAnObject has one object that names another, alone and together with the other.
func TestNamesWithoutAnObject(t *testing.T) {
	tests := map[string]struct {
		input   string
		present []string // objects, any of which makes the warning go
		warning string
	}{
		"claim of a volume": {
			input: pod("web", "1", ", volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"),
			present: []string{
				"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}}",
				scenario("{at: 5s, create: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}}}"),
			},
			warning: "input.yaml:1:176: spec.volumes[0].persistentVolumeClaim.claimName: the input has no PersistentVolumeClaim default/data",
		},
		"claim of an ephemeral volume": {
			input: pod("web", "1", ", volumes: [{name: data, ephemeral: {volumeClaimTemplate: {spec: {}}}}]"),
			present: []string{
				"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: web-data}}",
			},
			warning: "input.yaml:1:152: spec.volumes[0].ephemeral: the input has no PersistentVolumeClaim default/web-data",
		},
		"resource claim": {
			input:   pod("web", "1", ", resourceClaims: [{name: gpu, resourceClaimName: gpu}]"),
			present: []string{"{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: gpu}}"},
			warning: "input.yaml:1:158: spec.resourceClaims[0].resourceClaimName: the input has no ResourceClaim default/gpu",
		},
		"template of a resource claim": {
			input:   pod("web", "1", ", resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]"),
			present: []string{"{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpu}}"},
			warning: "input.yaml:1:158: spec.resourceClaims[0].resourceClaimTemplateName: the input has no ResourceClaimTemplate default/gpu",
		},
		"device class": {
			input: "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: gpu}, " +
				"spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}",
			present: []string{"{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}"},
			warning: "input.yaml:1:126: spec.devices.requests[0].exactly.deviceClassName: the input has no DeviceClass gpu",
		},
		"device class of an alternative in a template": {
			input: "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpu}, " +
				"spec: {spec: {devices: {requests: [{name: r, firstAvailable: [{name: a, deviceClassName: gpu}]}]}}}}",
			present: []string{"{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}"},
			warning: "input.yaml:1:158: spec.spec.devices.requests[0].firstAvailable[0].deviceClassName: the input has no DeviceClass gpu",
		},
		"storage class": {
			input: "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: fast}}",
			present: []string{
				"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}}",
				"{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {storageClassName: fast}}",
			},
			warning: "input.yaml:1:78: spec.storageClassName: the input has no StorageClass fast",
		},
		"volume": {
			input:   "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {volumeName: pv}}",
			present: []string{"{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}}"},
			warning: "input.yaml:1:78: spec.volumeName: the input has no PersistentVolume pv",
		},
		"namespace of an affinity": {
			input: pod("web", "1", ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "+
				"[{topologyKey: zone, labelSelector: {}, namespaces: [shop]}]}}"),
			present: []string{
				"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
				"{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}}",
			},
			warning: "input.yaml:1:259: spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaces[0]: the input has no Namespace shop",
		},
		"namespace that is selected": {
			input: documents("{apiVersion: v1, kind: Pod, metadata: {name: db, namespace: shop}}",
				pod("web", "1", ", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "+
					"[{topologyKey: zone, labelSelector: {}, namespaceSelector: {matchLabels: {team: a}}}]}}")),
			present: []string{"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"},
			warning: "input.yaml:1:50: metadata.namespace: the input has no Namespace shop",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{test.warning}, parse(t, test.input).Warnings); diff != "" {
				t.Errorf("warnings differ (-want +got):\n%s", diff)
			}
			for _, present := range test.present {
				if warnings := parse(t, documents(test.input, present)).Warnings; len(warnings) > 0 {
					t.Errorf("with %s there are warnings: %q", present, warnings)
				}
			}
		})
	}
}

func TestMissingObjectsOfAKindShareAWarning(t *testing.T) {
	input := documents(
		pod("a", "1", ", volumes: [{name: data, persistentVolumeClaim: {claimName: a}}]"),
		pod("b", "1", ", volumes: [{name: data, persistentVolumeClaim: {claimName: b}}]"),
		pod("c", "1", ", volumes: [{name: data, persistentVolumeClaim: {claimName: b}}]"),
	)
	want := []string{"input.yaml:1:174: spec.volumes[0].persistentVolumeClaim.claimName: the input has no PersistentVolumeClaim default/a, nor 1 others that are named"}
	if diff := cmp.Diff(want, parse(t, input).Warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
}

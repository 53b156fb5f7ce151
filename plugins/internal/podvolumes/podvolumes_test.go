// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podvolumes_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestClaims(t *testing.T) {
	pod := objects.Pod("p").PersistentVolumeClaim("c", "d").EphemeralVolume("e").
		Volume("tmp", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}).Build()
	var names []string
	for i := range pod.Spec.Volumes {
		name, ok := podvolumes.ClaimName(pod, &pod.Spec.Volumes[i])
		names = append(names, fmt.Sprintf("%s %v", name, ok))
	}
	if diff := cmp.Diff([]string{"c true", "d true", "p-e true", " false"}, names); diff != "" {
		t.Errorf("names of claims differ (-want +got):\n%s", diff)
	}
	elsewhereClaim := objects.PersistentVolumeClaim("d").With(func(claim *v1.PersistentVolumeClaim) { claim.Namespace = "elsewhere" }).Build()
	for _, tt := range []struct {
		claim       *v1.PersistentVolumeClaim
		names, uses bool
	}{
		{objects.PersistentVolumeClaim("d").Build(), true, true},
		{objects.PersistentVolumeClaim("p-e").Build(), false, true},
		{objects.PersistentVolumeClaim("x").Build(), false, false},
		{objects.PersistentVolumeClaim("").Build(), false, false},
		{elsewhereClaim, false, false},
	} {
		if got := podvolumes.Names(pod, tt.claim); got != tt.names {
			t.Errorf("the pod names %s/%s: got %v, want %v", tt.claim.Namespace, tt.claim.Name, got, tt.names)
		}
		if got := podvolumes.Uses(pod, tt.claim); got != tt.uses {
			t.Errorf("the pod uses %s/%s: got %v, want %v", tt.claim.Namespace, tt.claim.Name, got, tt.uses)
		}
	}
}

func TestLookupStatus(t *testing.T) {
	missing := fmt.Errorf("looking up: %w", apierrors.NewNotFound(v1.Resource("persistentvolume"), "v"))
	fixture.CheckStatus(t, podvolumes.LookupStatus(missing),
		fwk.NewStatus(fwk.UnschedulableAndUnresolvable, `looking up: persistentvolume "v" not found`))
	fixture.CheckStatus(t, podvolumes.LookupStatus(errors.New("broken")), fwk.NewStatus(fwk.Error, "broken"))
}

func TestIsMigrated(t *testing.T) {
	for _, name := range []string{"aws-ebs", "gce-pd", "azure-disk", "cinder", "portworx-volume"} {
		if !podvolumes.IsMigrated("kubernetes.io/" + name) {
			t.Errorf("%s is not migrated", name)
		}
	}
	for _, name := range []string{"vsphere-volume", "azure-file", "nfs"} {
		if podvolumes.IsMigrated("kubernetes.io/" + name) {
			t.Errorf("%s is migrated", name)
		}
	}
}

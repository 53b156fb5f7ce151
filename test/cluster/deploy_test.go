// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Both folders of deploy are taken by the API server, and the namespace takes the pods of the Deployment.
func TestManifestsAreTaken(t *testing.T) {
	ctx := t.Context()
	f := NewFixture(ctx, t, settings.Binaries, InsteadOf)
	beside, err := ReadManifests(Beside)
	if err != nil {
		t.Fatal(err)
	}
	if err := beside.Apply(ctx, f.Client); err != nil {
		t.Fatal(err)
	}
	for folder, manifests := range map[string]*Manifests{Beside: beside, InsteadOf: f.Manifests} {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "scheduler.yaml")
			if err := os.WriteFile(path, []byte(manifests.ConfigMaps[0].Data["scheduler.yaml"]), 0o600); err != nil {
				t.Fatal(err)
			}
			if output, err := exec.Command(settings.Rouse, "profiles", "validate", path).CombinedOutput(); err != nil {
				t.Errorf("the configuration is not valid: %v\n%s", err, output)
			}
			deployment := manifests.Deployments[0]
			pod := &v1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}
			pod.Name, pod.Namespace = "rouse", deployment.Namespace
			dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
			if _, err := f.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, dryRun); err != nil {
				t.Errorf("the API server does not take a pod of the Deployment: %v", err)
			}
			pod.Spec.Containers[0].SecurityContext = nil
			if _, err := f.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, dryRun); !apierrors.IsForbidden(err) {
				t.Errorf("the namespace takes a pod without restrictions: %v", err)
			}
			if replicas := *deployment.Spec.Replicas; replicas < 2 {
				t.Errorf("the Deployment has %d replicas; one is to take over from the other", replicas)
			}
			mounted := pod.Spec.Volumes[0].ConfigMap.Name
			if diff := cmp.Diff(manifests.ConfigMaps[0].Name, mounted); diff != "" {
				t.Errorf("the ConfigMap that is mounted (- made, + mounted):\n%s", diff)
			}
			budget, err := metav1.LabelSelectorAsMap(manifests.Budgets[0].Spec.Selector)
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range budget {
				if pod.Labels[name] != value {
					t.Errorf("the disruption budget is for pods with %s=%s, which those of the Deployment are not", name, value)
				}
			}
		})
	}
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/simulate"
)

// TestClaimThatIsNeverBound has a claim that says that it is bound, but has no volume, so that it never gets one. No real
// time is spent on waiting for it, and the pod is bound once the claim is set right.
func TestClaimThatIsNeverBound(t *testing.T) {
	claim := "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: default%s}, " +
		"spec: {accessModes: [ReadWriteOnce], storageClassName: made, resources: {requests: {storage: 1Gi}}}}"
	report := run(t, documents(
		node("n1", ""),
		"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: made}, provisioner: example.com/disks, volumeBindingMode: WaitForFirstConsumer}",
		strings.Replace(claim, "%s", ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}", 1),
		pod("web", "1", ", volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"),
		scenario(
			"{at: 5s, expect: {pods: [{name: web, node: \"\"}]}}",
			"{at: 1m, patch: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: default, annotations: {pv.kubernetes.io/bind-completed: null}}}}",
			"{at: 2m, expect: {pods: [{name: web, node: n1}]}}",
		),
	), simulate.Options{Trace: true})
	for _, entry := range report.Trace {
		if strings.Contains(entry.Message, "nothing changes in a simulation while a plugin waits") {
			wantNoFailures(t, report)
			return
		}
	}
	t.Errorf("no attempt failed because of the claim:\n%+v", report.Trace)
}

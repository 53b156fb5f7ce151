// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"errors"
	"strings"
	"testing"

	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
)

func TestCheckEventResources(t *testing.T) {
	tests := map[fwk.EventResource]fwk.EventResource{ // the suggestion; fine if it is the name itself
		"Nodes": fwk.Node, "node": fwk.Node, "v1/Node": fwk.Node, "Nod": fwk.Node, "pods": fwk.Pod, "node.v1.": fwk.Node,
		"ConfigMap": "configmaps.v1.", "configmaps": "configmaps.v1.", "v1/ConfigMap": "configmaps.v1.", "configmaps.v1": "configmaps.v1.",
		"configmap.v1.": "configmaps.v1.", "ConfigMaps.v1.": "configmaps.v1.", "Secrets": "secrets.v1.",
		"apps/v1/Deployment": "deployments.v1.apps", "deployment.v1.apps": "deployments.v1.apps",
		"CSINode": fwk.CSINode, "csinodes": fwk.CSINode, "StorageClass": fwk.StorageClass, "persistentvolumeclaims": fwk.PersistentVolumeClaim,
		"": "", "Xylophone": "", "example.com/v1/Queue": "",
		"Queues.v1.example.com": "",
		"queues.v1.example.com": "queues.v1.example.com", "configmaps.v1.": "configmaps.v1.", "widgets.v1.": "widgets.v1.",
		"endpoints.v1.": "endpoints.v1.", "nodes.v1.": "nodes.v1.", fwk.WildCard: fwk.WildCard, fwk.Pod: fwk.Pod,
	}
	for _, row := range framework.Resources() {
		tests[row.Name] = row.Name
		custom := framework.CustomResource(row.Informer)
		tests[custom] = custom
	}
	for resource, want := range tests {
		t.Run(string(resource), func(t *testing.T) {
			f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Filter = enabled("A") },
				waiting("A", fwk.ClusterEvent{Resource: resource, ActionType: fwk.Add}, fwk.ClusterEvent{Resource: resource, ActionType: fwk.Delete}))
			err := runtime.Profiles{f.ProfileName(): f}.CheckEventResources()
			if resource == want && resource != "" {
				if err != nil {
					t.Errorf("unexpected error: %v", err)
				}
				return
			}
			var unheard *runtime.EventResourceError
			if !errors.As(err, &unheard) || unheard.Plugin != "A" || unheard.Resource != resource || unheard.Suggestion != want {
				t.Errorf("error %v, want one with suggestion %q", err, want)
			}
			if text := errorText(err); strings.Count(text, "\n") > 0 || !strings.Contains(text, `plugin "A" registers events of "`+string(resource)+`"`) {
				t.Errorf("error text: %s", text)
			}
		})
	}
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package forgotten

import (
	"encoding/json"

	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/internal/randomcluster"
)

// scenarioOf writes steps as a scenario.
func scenarioOf(steps []randomcluster.Step) ([]byte, error) {
	var written []any
	for _, step := range steps {
		content, err := json.Marshal(step.Object)
		if err != nil {
			return nil, err
		}
		written = append(written, map[string]any{"at": step.At.String(), step.Verb: json.RawMessage(content)})
	}
	return yaml.Marshal(map[string]any{
		"apiVersion": "rouse/v1alpha1", "kind": "Scenario", "metadata": map[string]any{"name": "forgotten"}, "spec": map[string]any{"steps": written},
	})
}

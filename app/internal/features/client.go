// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/component-base/featuregate"
)

// clientGates translates between the gates of client-go, which has types of its own for them, and those of the process.
type clientGates struct{ g *Gates }

// AddVersioned implements clientfeatures.VersionedRegistry.
func (c clientGates) AddVersioned(in map[clientfeatures.Feature]clientfeatures.VersionedSpecs) error {
	out := map[featuregate.Feature]featuregate.VersionedSpecs{}
	for name, specs := range in {
		for _, spec := range specs {
			translated := featuregate.FeatureSpec{Default: spec.Default, LockToDefault: spec.LockToDefault, Version: spec.Version}
			switch spec.PreRelease {
			case clientfeatures.Alpha:
				translated.PreRelease = featuregate.Alpha
			case clientfeatures.Beta:
				translated.PreRelease = featuregate.Beta
			case clientfeatures.Deprecated:
				translated.PreRelease = featuregate.Deprecated
			default:
				translated.PreRelease = featuregate.GA
			}
			out[featuregate.Feature(name)] = append(out[featuregate.Feature(name)], translated)
		}
	}
	return c.g.gates.AddVersioned(out)
}

// Enabled implements clientfeatures.Gates.
func (c clientGates) Enabled(name clientfeatures.Feature) bool {
	return c.g.gates.Enabled(featuregate.Feature(name))
}

func (g *Gates) addClientGates() error {
	return clientfeatures.AddVersionedFeaturesToExistingFeatureGates(clientGates{g})
}

// replaceClientGates has client-go ask these gates instead of the environment.
func (g *Gates) replaceClientGates() { clientfeatures.ReplaceFeatureGates(clientGates{g}) }

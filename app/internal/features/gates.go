// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	genericfeatures "k8s.io/apiserver/pkg/features"
	libraryfeatures "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"
	metricsfeatures "k8s.io/component-base/metrics/features"
	zpagesfeatures "k8s.io/component-base/zpages/features"
	"k8s.io/klog/v2"
)

const (
	kubernetes     = "1.37" // whose gates these are
	oldestEmulated = "1.34"
)

// Gates are the feature gates of one process.
type Gates struct {
	gates    featuregate.MutableVersionedFeatureGate
	registry compatibility.ComponentGlobalsRegistry
	acted    map[featuregate.Feature]bool
}

// New returns all gates at their defaults. An error means that a library and the table disagree about a gate.
func New() (*Gates, error) {
	effective := compatibility.NewEffectiveVersionFromString(kubernetes, oldestEmulated, oldestEmulated)
	g := &Gates{
		gates: featuregate.NewVersionedFeatureGateWithMinCompatibility(
			effective.EmulationVersion(), effective.MinCompatibilityVersion()),
		registry: compatibility.NewComponentGlobalsRegistry(),
		acted:    map[featuregate.Feature]bool{},
	}
	if err := errors.Join(g.addLibraries(), g.addTable()); err != nil {
		return nil, fmt.Errorf("registering feature gates: %w", err)
	}
	if err := g.registry.Register(compatibility.DefaultKubeComponent, effective, g.gates); err != nil {
		return nil, fmt.Errorf("registering feature gates: %w", err)
	}
	return g, nil
}

func (g *Gates) addTable() error {
	for _, row := range table() {
		if err := g.gates.AddVersioned(map[featuregate.Feature]featuregate.VersionedSpecs{row.name: row.specs}); err != nil {
			return err
		}
		g.acted[row.name] = row.effect == acted
	}
	needs := map[featuregate.Feature][]featuregate.Feature{}
	for _, row := range table() {
		if len(row.needs) > 0 {
			needs[row.name] = row.needs
		}
	}
	return g.gates.AddDependencies(needs)
}

// addLibraries adds the gates of the libraries that the process consists of. Those of the API server's library that
// only an API server has are accepted too, as deployments hand the same list to every component.
func (g *Gates) addLibraries() error {
	err := errors.Join(
		logsapi.AddFeatureGates(g.gates),
		metricsfeatures.AddFeatureGates(g.gates),
		zpagesfeatures.AddFeatureGates(g.gates),
		g.addClientGates(),
	)
	for name := range g.gates.GetAll() {
		g.acted[name] = true
	}
	known := g.gates.GetAllVersioned()
	for name, specs := range libraryfeatures.DefaultMutableFeatureGate.DeepCopyAndReset().GetAllVersioned() {
		if _, exists := known[name]; !exists {
			err = errors.Join(err, g.gates.AddVersioned(map[featuregate.Feature]featuregate.VersionedSpecs{name: specs}))
		}
	}
	g.acted[genericfeatures.RemoteRequestHeaderUID] = true
	return err
}

// AddFlags adds --feature-gates, --emulated-version and --min-compatibility-version.
func (g *Gates) AddFlags(flags *pflag.FlagSet) { g.registry.AddFlags(flags) }

// Set takes over what the flags say. It must be called once they are parsed, before anything asks for a gate. The error
// names a gate that does not exist, is locked, or needs another one.
func (g *Gates) Set() error {
	if err := g.registry.Set(); err != nil {
		return err
	}
	return errors.Join(g.registry.Validate()...)
}

// Enabled reports whether a gate is open. It panics if there is no such gate.
func (g *Gates) Enabled(name featuregate.Feature) bool { return g.gates.Enabled(name) }

// FeatureGate returns the gates in the form that libraries ask for.
func (g *Gates) FeatureGate() featuregate.FeatureGate { return g.gates }

// EffectiveVersion is the version of Kubernetes that the process claims to be.
func (g *Gates) EffectiveVersion() compatibility.EffectiveVersion {
	return g.registry.EffectiveVersionFor(compatibility.DefaultKubeComponent)
}

// Apply hands the gates of the libraries over to them and names each gate in a warning that is switched from its
// default and switches nothing.
func (g *Gates) Apply(logger klog.Logger) error {
	metricsfeatures.ApplyFeatureGates(g.gates)
	g.replaceClientGates()
	if err := g.applyToAPIServerLibrary(); err != nil {
		return fmt.Errorf("setting feature gates: %w", err)
	}
	for _, name := range g.Ineffective() {
		logger.Info("Warning: this feature gate is switched from its default, which has no effect on Rouse",
			"featureGate", name, "value", g.gates.Enabled(name))
	}
	if effective := g.EffectiveVersion(); !effective.EmulationVersion().EqualTo(effective.BinaryVersion()) {
		logger.Info("Warning: --emulated-version has no effect on the feature gates of the scheduler itself",
			"version", effective.EmulationVersion().String())
	}
	return nil
}

// applyToAPIServerLibrary sets what was asked for in the gates that the library for serving reads.
func (g *Gates) applyToAPIServerLibrary() error {
	wanted := map[string]bool{}
	for name := range libraryfeatures.DefaultMutableFeatureGate.GetAll() {
		if !special(name) && g.gates.Enabled(name) != libraryfeatures.DefaultMutableFeatureGate.Enabled(name) {
			wanted[string(name)] = g.gates.Enabled(name)
		}
	}
	return libraryfeatures.DefaultMutableFeatureGate.SetFromMap(wanted)
}

// Ineffective returns the gates that are switched from their default and that Rouse does not act on, sorted.
func (g *Gates) Ineffective() []featuregate.Feature {
	var names []featuregate.Feature
	defaults := g.gates.DeepCopyAndReset()
	for name := range g.gates.GetAll() {
		if !special(name) && !g.acted[name] && g.gates.Enabled(name) != defaults.Enabled(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// special reports whether a gate stands for others.
func special(name featuregate.Feature) bool { return name == "AllAlpha" || name == "AllBeta" }

// AddMetrics publishes the gates as kubernetes_feature_enabled and the version as version_info, in the registry of the
// process.
func (g *Gates) AddMetrics() {
	g.gates.AddMetrics()
	g.registry.AddMetrics()
}

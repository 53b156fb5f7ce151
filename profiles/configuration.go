// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"slices"
	"time"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	componentconfig "k8s.io/component-base/config"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

// Configuration is a KubeSchedulerConfiguration with every default filled in.
type Configuration struct {
	// Source is the file that it was loaded from, empty for the default one.
	Source string
	// Parallelism is how many nodes are looked at concurrently.
	Parallelism int32
	// LeaderElection and ClientConnection are for the process around the scheduler.
	LeaderElection   componentconfig.LeaderElectionConfiguration
	ClientConnection componentconfig.ClientConnectionConfiguration
	// EnableProfiling and EnableContentionProfiling are about the Go profiler on
	// the health port.
	EnableProfiling, EnableContentionProfiling bool
	// PercentageOfNodesToScore is how many percent of the nodes have to be found
	// feasible before the search for more stops; 0 chooses by the cluster's size.
	// A profile may have its own.
	PercentageOfNodesToScore int32
	// PodInitialBackoffSeconds and PodMaxBackoffSeconds bound how long a pod that
	// could not be scheduled is kept back before it is tried again.
	PodInitialBackoffSeconds, PodMaxBackoffSeconds int64
	// DelayCacheUntilActive keeps a scheduler that is not the leader from filling
	// its cache.
	DelayCacheUntilActive bool
	// Profiles has at least one entry.
	Profiles []Profile
	// Extenders is in the order written; see ApplyExtenders.
	Extenders []configv1.Extender
	// Warnings is about settings that are legal but have no effect, such as a
	// disabled plugin that does not exist. Filled only with Options.KnownPlugins.
	Warnings manifest.ErrorList

	features Features                             // what it was loaded for
	document *manifest.Document                   // where it was loaded from, nil if it was not
	written  *configv1.KubeSchedulerConfiguration // as decoded, before defaults; nil like document
}

// PodInitialBackoff is PodInitialBackoffSeconds as a duration.
func (c *Configuration) PodInitialBackoff() time.Duration {
	return time.Duration(c.PodInitialBackoffSeconds) * time.Second
}

// PodMaxBackoff is PodMaxBackoffSeconds as a duration.
func (c *Configuration) PodMaxBackoff() time.Duration {
	return time.Duration(c.PodMaxBackoffSeconds) * time.Second
}

// Profile returns the profile for a scheduler name, nil if there is none.
func (c *Configuration) Profile(schedulerName string) *Profile {
	for i := range c.Profiles {
		if c.Profiles[i].SchedulerName == schedulerName {
			return &c.Profiles[i]
		}
	}
	return nil
}

// Profile is one scheduler within a process: pods choose it by spec.schedulerName.
type Profile struct {
	SchedulerName string
	// PercentageOfNodesToScore overrides that of the configuration; nil inherits it.
	PercentageOfNodesToScore *int32
	// Plugins is merged with the default plugins but not expanded: MultiPoint
	// still stands for all extension points. See Resolve.
	Plugins configv1.Plugins
	// PluginConfig has an entry for every plugin with arguments: those of the file
	// first, then the missing ones of enabled plugins by name.
	PluginConfig []PluginConfig
}

// PluginConfig is the arguments of one plugin.
type PluginConfig struct {
	Name string
	// Args is a defaulted *configv1.<Name>Args for the plugins of argsKinds, an
	// object of Options.Scheme for the kinds it has, and otherwise a
	// *runtime.Unknown with the JSON as written, or nil if none was written.
	Args apiruntime.Object

	// versioned is what YAML writes where Args is an internal type of Options.Scheme.
	versioned apiruntime.Object
}

// EnabledPlugins returns the names of all plugins that are enabled at MultiPoint or
// an extension point, sorted. These are the plugins to construct.
func (p *Profile) EnabledPlugins() []string {
	names := sets.New[string]()
	for _, point := range allSets() {
		for _, plugin := range setAt(&p.Plugins, point).Enabled {
			names.Insert(plugin.Name)
		}
	}
	return sets.List(names)
}

// Args returns the arguments of a plugin, nil if it has none.
func (p *Profile) Args(plugin string) apiruntime.Object {
	i := slices.IndexFunc(p.PluginConfig, func(c PluginConfig) bool { return c.Name == plugin })
	if i < 0 {
		return nil
	}
	return p.PluginConfig[i].Args
}

// Features are the parts of a scheduler whose settings count only as long as they are
// switched on, as all are in the zero value: settings of the others have no default and
// are refused.
type Features struct {
	// NoStorageCapacityScoring is about shape of VolumeBindingArgs.
	NoStorageCapacityScoring bool
	// NoFilterTimeout is about filterTimeout of DynamicResourcesArgs.
	NoFilterTimeout bool
	// NoBindingConditions is about bindingTimeout of DynamicResourcesArgs.
	NoBindingConditions bool
}

// Options change how a configuration is loaded. The zero value loads what
// kube-scheduler loads.
type Options struct {
	// Features are the parts of the scheduler that are switched off.
	Features Features
	// KnownPlugins are the names of all plugins that exist. If set, enabling
	// another one is an error with a suggestion; otherwise names are not checked
	// until the profile is resolved.
	KnownPlugins sets.Set[string]
	// Scheme has further kinds of arguments: for a plugin X the kind XArgs in group
	// kubescheduler.config.k8s.io, version v1. They are decoded strictly, defaulted
	// with the scheme and, if the scheme has an internal version of the kind,
	// converted to that. Kinds of argsKinds are not looked up in it. May be nil.
	Scheme *apiruntime.Scheme
	// Override changes the configuration after defaulting and before validation,
	// for command line flags. May be nil.
	Override func(*Configuration)
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	componentconfig "k8s.io/component-base/config"
	"k8s.io/component-base/config/v1alpha1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"
)

// Defaults of the top-level fields that component-base has none for.
const (
	// DefaultSchedulerName is the name of a single profile that has none, and what
	// pods without spec.schedulerName get.
	DefaultSchedulerName = "default-scheduler"

	defaultParallelism           = 16
	defaultInitialBackoffSeconds = 1
	defaultMaxBackoffSeconds     = 10
	defaultResourceLock          = "leases"
)

// Default returns the configuration of a scheduler that was given no file: one
// profile with the default plugins. It is a fresh value each call.
func Default() *Configuration { return Features{}.Default() }

// Default returns the configuration of a scheduler that was given no file and has parts
// switched off.
func (f Features) Default() *Configuration {
	defaulted := defaultedConfiguration(&configv1.KubeSchedulerConfiguration{}, f)
	defaulted.Profiles = []Profile{*defaultProfile(DefaultSchedulerName, f)}
	return defaulted
}

// DefaultProfile returns a profile with the default plugins and their default
// arguments, a fresh value each call.
func DefaultProfile(schedulerName string) *Profile { return defaultProfile(schedulerName, Features{}) }

func defaultProfile(schedulerName string, features Features) *Profile {
	profile := &Profile{SchedulerName: schedulerName, Plugins: mergeWithDefaults(configv1.Plugins{})}
	_ = profile.complete(argsCatalog{features: features}) // only kinds of an additional scheme can fail
	return profile
}

// defaultedConfiguration returns the top-level settings as written, or their
// defaults, without profiles.
func defaultedConfiguration(written *configv1.KubeSchedulerConfiguration, features Features) *Configuration {
	profiling := ptr.Deref(written.EnableProfiling, true)
	return &Configuration{
		Parallelism:               ptr.Deref(written.Parallelism, defaultParallelism),
		LeaderElection:            defaultedLeaderElection(written.LeaderElection),
		ClientConnection:          defaultedClientConnection(written.ClientConnection),
		EnableProfiling:           profiling,
		EnableContentionProfiling: ptr.Deref(written.EnableContentionProfiling, profiling),
		PercentageOfNodesToScore:  ptr.Deref(written.PercentageOfNodesToScore, 0),
		PodInitialBackoffSeconds:  ptr.Deref(written.PodInitialBackoffSeconds, defaultInitialBackoffSeconds),
		PodMaxBackoffSeconds:      ptr.Deref(written.PodMaxBackoffSeconds, defaultMaxBackoffSeconds),
		DelayCacheUntilActive:     written.DelayCacheUntilActive,
		Extenders:                 written.DeepCopy().Extenders,
		features:                  features,
	}
}

func defaultedLeaderElection(written v1alpha1.LeaderElectionConfiguration) componentconfig.LeaderElectionConfiguration {
	if written.ResourceLock == "" {
		written.ResourceLock = defaultResourceLock
	}
	if written.ResourceName == "" {
		written.ResourceName = configv1.SchedulerDefaultLockObjectName
	}
	if written.ResourceNamespace == "" {
		written.ResourceNamespace = configv1.SchedulerDefaultLockObjectNamespace
	}
	v1alpha1.RecommendedDefaultLeaderElectionConfiguration(&written)
	return componentconfig.LeaderElectionConfiguration{
		LeaderElect:       ptr.Deref(written.LeaderElect, true),
		LeaseDuration:     written.LeaseDuration,
		RenewDeadline:     written.RenewDeadline,
		RetryPeriod:       written.RetryPeriod,
		ResourceLock:      written.ResourceLock,
		ResourceName:      written.ResourceName,
		ResourceNamespace: written.ResourceNamespace,
	}
}

func defaultedClientConnection(written v1alpha1.ClientConnectionConfiguration) componentconfig.ClientConnectionConfiguration {
	v1alpha1.RecommendedDefaultClientConnectionConfiguration(&written)
	return componentconfig.ClientConnectionConfiguration{
		Kubeconfig:         written.Kubeconfig,
		AcceptContentTypes: written.AcceptContentTypes,
		ContentType:        written.ContentType,
		QPS:                written.QPS,
		Burst:              written.Burst,
	}
}

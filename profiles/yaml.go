// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/config/v1alpha1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// YAML returns the configuration as a file with every default written out: plugin
// sets merged with the default plugins but not expanded, plugin arguments completed.
// Loading it again gives the same configuration.
func (c *Configuration) YAML() ([]byte, error) {
	versioned, err := c.versioned()
	if err != nil {
		return nil, err
	}
	data, err := yaml.Marshal(versioned)
	if err != nil {
		return nil, fmt.Errorf("writing the scheduler configuration: %w", err)
	}
	return data, nil
}

// versioned returns the configuration as its file format.
func (c *Configuration) versioned() (*configv1.KubeSchedulerConfiguration, error) {
	election, client := c.LeaderElection, c.ClientConnection
	result := &configv1.KubeSchedulerConfiguration{
		TypeMeta:    metav1.TypeMeta{APIVersion: configv1.SchemeGroupVersion.String(), Kind: configurationKind},
		Parallelism: ptr.To(c.Parallelism),
		LeaderElection: v1alpha1.LeaderElectionConfiguration{
			LeaderElect:       ptr.To(election.LeaderElect),
			LeaseDuration:     election.LeaseDuration,
			RenewDeadline:     election.RenewDeadline,
			RetryPeriod:       election.RetryPeriod,
			ResourceLock:      election.ResourceLock,
			ResourceName:      election.ResourceName,
			ResourceNamespace: election.ResourceNamespace,
		},
		ClientConnection: v1alpha1.ClientConnectionConfiguration{
			Kubeconfig:         client.Kubeconfig,
			AcceptContentTypes: client.AcceptContentTypes,
			ContentType:        client.ContentType,
			QPS:                client.QPS,
			Burst:              client.Burst,
		},
		DebuggingConfiguration: v1alpha1.DebuggingConfiguration{
			EnableProfiling:           ptr.To(c.EnableProfiling),
			EnableContentionProfiling: ptr.To(c.EnableContentionProfiling),
		},
		PercentageOfNodesToScore: ptr.To(c.PercentageOfNodesToScore),
		PodInitialBackoffSeconds: ptr.To(c.PodInitialBackoffSeconds),
		PodMaxBackoffSeconds:     ptr.To(c.PodMaxBackoffSeconds),
		Extenders:                c.Extenders,
		DelayCacheUntilActive:    c.DelayCacheUntilActive,
	}
	for i := range c.Profiles {
		profile, err := c.Profiles[i].versioned()
		if err != nil {
			return nil, err
		}
		result.Profiles = append(result.Profiles, profile)
	}
	return result, nil
}

func (p *Profile) versioned() (configv1.KubeSchedulerProfile, error) {
	result := configv1.KubeSchedulerProfile{
		SchedulerName:            ptr.To(p.SchedulerName),
		PercentageOfNodesToScore: p.PercentageOfNodesToScore,
		Plugins:                  &p.Plugins,
	}
	for _, config := range p.PluginConfig {
		raw, err := config.json()
		if err != nil {
			return result, fmt.Errorf("profile %q: writing args of plugin %s: %w", p.SchedulerName, config.Name, err)
		}
		result.PluginConfig = append(result.PluginConfig, configv1.PluginConfig{
			Name: config.Name, Args: apiruntime.RawExtension{Raw: raw},
		})
	}
	return result, nil
}

// json returns the arguments as they are written in a file, nil for none.
func (c PluginConfig) json() ([]byte, error) {
	if c.versioned != nil {
		return json.Marshal(c.versioned)
	}
	switch args := c.Args.(type) {
	case nil:
		return nil, nil
	case *apiruntime.Unknown:
		if args.ContentType == apiruntime.ContentTypeYAML {
			return yaml.YAMLToJSON(args.Raw)
		}
		return args.Raw, nil
	}
	return json.Marshal(c.Args)
}

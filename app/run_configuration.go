// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"k8s.io/component-base/configz"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/profiles"
)

// configurationName is the name of the configuration in /configz.
const configurationName = "componentconfig"

// completed returns the configuration as the scheduler uses it: arguments only of plugins that were built, by name.
func (p *process) completed() ([]byte, error) {
	shown := *p.config
	shown.Profiles = slices.Clone(p.config.Profiles)
	for i := range shown.Profiles {
		profile := &shown.Profiles[i]
		built := p.scheduler.Profiles()[profile.SchedulerName]
		var used []profiles.PluginConfig
		for _, config := range profile.PluginConfig {
			if built.Plugin(config.Name) != nil {
				used = append(used, config)
			}
		}
		slices.SortFunc(used, func(a, b profiles.PluginConfig) int { return cmp.Compare(a.Name, b.Name) })
		profile.PluginConfig = used
	}
	return shown.YAML()
}

func (p *process) writeConfiguration(file string) error {
	text, err := p.completed()
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	p.logger.Info("Wrote configuration", "file", file)
	return nil
}

func (p *process) logConfiguration() error {
	if !p.logger.V(2).Enabled() {
		return nil
	}
	text, err := p.completed()
	if err != nil {
		return err
	}
	p.logger.V(2).Info("Using component config", "config", string(text))
	return nil
}

// publishConfiguration has /configz show the configuration until it is withdrawn.
func (p *process) publishConfiguration() (withdraw func(), err error) {
	text, err := p.completed()
	if err != nil {
		return nil, err
	}
	var config configv1.KubeSchedulerConfiguration
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("publishing the configuration: %w", err)
	}
	entry, err := configz.New(configurationName)
	if err != nil {
		return nil, fmt.Errorf("publishing the configuration: %w", err)
	}
	withdraw = func() { configz.Delete(configurationName) }
	if err := entry.Set(&config); err != nil {
		withdraw()
		return nil, fmt.Errorf("publishing the configuration: %w", err)
	}
	return withdraw, nil
}

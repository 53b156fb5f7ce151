// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"k8s.io/component-base/configz"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/app/internal/options"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// configurationName is the name of the configuration in /configz.
const configurationName = "componentconfig"

// completed returns the configuration as the scheduler uses it: arguments only of plugins that were built, by name.
func (p *process) completed() ([]byte, error) { return completed(p.config, p.scheduler.Profiles()) }

func completed(config *profiles.Configuration, frameworks runtime.Profiles) ([]byte, error) {
	shown := *config
	shown.Profiles = slices.Clone(config.Profiles)
	for i := range shown.Profiles {
		profile := &shown.Profiles[i]
		built := frameworks[profile.SchedulerName]
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

// writeConfiguration writes the configuration to the file that the flags name. It needs no cluster.
func writeConfiguration(ctx context.Context, o *options.Options, config *profiles.Configuration, registry pluginSet) (err error) {
	gated := scheduler.Options{Registry: registry.Registry}
	applyGates(o.Gates, &gated)
	built, err := build(ctx, config, pluginSet{gated.Registry, registry.scheme})
	if err != nil {
		return err
	}
	defer closing(&err, built.Close)
	text, err := completed(config, built)
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.WriteConfigTo, text, 0o644); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	klog.FromContext(ctx).Info("Wrote configuration", "file", o.WriteConfigTo)
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

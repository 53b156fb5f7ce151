// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/runtime"
)

// Option adds something to the plugins that profiles may name. It is called each time a command needs them.
type Option func(runtime.Registry) error

// WithPlugin adds a plugin under a name. The name of an in-tree plugin is taken. As everywhere, a plugin runs only in
// profiles that enable it.
func WithPlugin(name string, factory runtime.PluginFactory) Option {
	return func(registry runtime.Registry) error { return registry.Register(name, factory) }
}

// NewSchedulerCommand returns the command line, with the plugins of the options in addition to the in-tree ones. Execute it
// with [Run], or with the one of k8s.io/component-base/cli. A binary of another name sets Use.
func NewSchedulerCommand(options ...Option) *cobra.Command {
	p := &program{options: options}
	command := &cobra.Command{
		Use:   "rouse",
		Short: "The Kubernetes scheduling framework: simulate, inspect and check schedulers",
		Long: "Rouse runs the Kubernetes scheduling framework and explains it: what a scheduler would do with a cluster,\n" +
			"which cluster events wake which pods, and what a KubeSchedulerConfiguration comes to.",
		SilenceErrors: true, // Run prints them
		SilenceUsage:  true,
	}
	command.SetFlagErrorFunc(flagError)
	command.AddCommand(
		p.runCommand(),
		p.simulateCommand(),
		p.eventsCommand(),
		p.explainCommand(),
		p.auditCommand(),
		p.profilesCommand(),
		p.pluginsCommand(),
		p.versionCommand(),
	)
	asGroup(command)
	p.runsAlone(command)
	return command
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"

	"github.com/spf13/cobra"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

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
// with [Run], or with the one of k8s.io/component-base/cli. A binary of another name sets Use. One that is called kubectl-rouse is a
// plugin of kubectl: explain reads the cluster of the current context there, unless other input is given.
func NewSchedulerCommand(options ...Option) *cobra.Command {
	return NewSchedulerCommandWithScheme(nil, options...)
}

// NewSchedulerCommandWithScheme is [NewSchedulerCommand] for plugins that have Go types in a scheme. A plugin X has typed arguments
// if there is a kind XArgs in kubescheduler.config.k8s.io/v1: its factory then gets an object of that type, with the defaults of the
// scheme, and what the file says that the type does not have is an error; see [profiles.Options].Scheme. Custom kinds among
// the types exist in the simulated clusters of the other commands, even without a CustomResourceDefinition. The scheme may be nil.
func NewSchedulerCommandWithScheme(scheme *apiruntime.Scheme, options ...Option) *cobra.Command {
	return (&program{options: options, scheme: scheme, kubectl: isKubectlPlugin(os.Args[0])}).command()
}

// command returns the command line.
func (p *program) command() *cobra.Command {
	command := &cobra.Command{
		Use:   "rouse",
		Short: "The Kubernetes scheduling framework: simulate, inspect and check schedulers",
		Long: "Rouse runs the Kubernetes scheduling framework and explains it: what a scheduler would do with a cluster,\n" +
			"which cluster events wake which pods, and what a KubeSchedulerConfiguration means in effect.",
		SilenceErrors: true, // Run prints them
		SilenceUsage:  true,
	}
	command.SetFlagErrorFunc(flagError)
	command.AddCommand(
		p.runCommand(),
		p.simulateCommand(),
		p.eventsCommand(),
		p.explainCommand(),
		p.snapshotCommand(),
		p.auditCommand(),
		p.testCommand(),
		p.profilesCommand(),
		p.pluginsCommand(),
		p.versionCommand(),
	)
	asGroup(command)
	p.runsAlone(command)
	if p.kubectl {
		asKubectlPlugin(command)
	}
	return command
}

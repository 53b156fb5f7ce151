// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/internal/render"
)

func (p *program) pluginsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "plugins",
		Short: "List the plugins that a profile may name",
		Long: "Lists every plugin with the extension points that it implements, whether it is enabled by default, the\n" +
			"default weight of its scores, and the events that wake the pods it rejected.",
		Args: between(0, 0, ""),
	}
	path := command.Flags().String("config", "", "KubeSchedulerConfiguration file, for plugins that require arguments")
	output := addOutputFlag(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		registry, err := p.registry()
		if err != nil {
			return err
		}
		config, err := p.load(command, *path, registry)
		if err != nil {
			return err
		}
		known, err := describePlugins(command.Context(), config, registry)
		if err != nil {
			return err
		}
		return writeView(command, output, known.sorted(), render.Plugins)
	}
	command.AddCommand(p.newPluginCommand())
	return command
}

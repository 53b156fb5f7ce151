// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/profiles"
)

func (p *program) profilesCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "profiles",
		Short: "Check, show and compare scheduler configurations",
	}
	command.AddCommand(p.validateCommand(), p.showCommand(), p.diffCommand())
	asGroup(command)
	return command
}

func (p *program) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check KubeSchedulerConfiguration files",
		Long: "Checks that a scheduler would start with each file: it is read strictly, its plugins are built and put at\n" +
			"their extension points. Everything that is wrong is printed, with line and column; the exit code is 2 then.",
		Example: "  rouse profiles validate scheduler.yaml",
		Args:    between(1, -1, "at least one configuration file"),
		RunE: func(command *cobra.Command, paths []string) error {
			var faults []error
			for _, path := range paths {
				config, built, err := p.frameworks(command, path)
				if err != nil {
					faults = append(faults, err)
					continue
				}
				faults = append(faults, built.Close())
				fmt.Fprintf(command.OutOrStdout(), "%s: valid, %s\n", path, profileCount(len(config.Profiles)))
			}
			return joinFaults(faults)
		},
	}
}

func profileCount(n int) string {
	if n == 1 {
		return "1 profile"
	}
	return fmt.Sprintf("%d profiles", n)
}

func (p *program) showCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show [FILE]",
		Short: "Show what a configuration comes to",
		Long: "Shows every default, the plugins of each extension point in the order in which they are called, and for each\n" +
			"of them whether it is a default one or where in the file it was enabled. Without a file the default\n" +
			"configuration is shown.",
		Example: "  rouse profiles show scheduler.yaml",
		Args:    between(0, 1, "one configuration file"),
	}
	profile := addProfileFlag(command)
	output := addOutputFlag(command)
	command.RunE = func(command *cobra.Command, paths []string) (err error) {
		path := ""
		if len(paths) > 0 {
			path = paths[0]
		}
		config, built, err := p.frameworks(command, path)
		if err != nil {
			return err
		}
		defer closing(&err, built.Close)
		chosen, err := inOrder(config, built, *profile)
		if err != nil {
			return err
		}
		shown := *config
		shown.Profiles = nil
		var resolved []*profiles.Resolved
		for _, framework := range chosen {
			shown.Profiles = append(shown.Profiles, *config.Profile(framework.ProfileName()))
			resolved = append(resolved, framework.Resolved())
		}
		view, err := inspect.NewConfiguration(&shown, resolved)
		if err != nil {
			return err
		}
		return output.write(command, view)
	}
	return command
}

func (p *program) diffCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "diff FILE [FILE]",
		Short: "Compare two configurations by what they come to",
		Long: "Compares two configurations with all defaults filled in and plugins expanded, so that two ways to write the\n" +
			"same thing are equal. A single file is compared with the default configuration. The exit code is 1 if there\n" +
			"are differences.",
		Example: "  rouse profiles diff old.yaml new.yaml",
		Args:    between(1, 2, "one or two configuration files"),
	}
	output := addOutputFlag(command)
	command.RunE = func(command *cobra.Command, paths []string) error {
		if len(paths) == 1 {
			paths = []string{"", paths[0]}
		}
		view, err := p.diff(command, paths[0], paths[1])
		if err != nil {
			return err
		}
		if err := output.write(command, view); err != nil {
			return err
		}
		if len(view.Differences) > 0 {
			return &CheckFailedError{}
		}
		return nil
	}
	return command
}

func (p *program) diff(command *cobra.Command, before, after string) (*inspect.Differences, error) {
	registry, err := p.registry()
	if err != nil {
		return nil, err
	}
	var configs []*profiles.Configuration
	var faults []error
	for _, path := range []string{before, after} {
		config, err := p.load(command, path, registry)
		if err == nil {
			var built interface{ Close() error }
			if built, err = build(command.Context(), config, registry); err == nil {
				err = built.Close()
			}
		}
		configs, faults = append(configs, config), append(faults, err)
	}
	if err := joinFaults(faults); err != nil {
		return nil, err
	}
	known, err := describePlugins(command.Context(), configs[1], registry)
	if err != nil {
		return nil, err
	}
	return inspect.NewDifferences(configs[0], configs[1], known.implements), nil
}

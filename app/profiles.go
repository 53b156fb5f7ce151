// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/internal/render"
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

func (p *program) showCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "show [FILE]",
		Short: "Show a configuration with everything that is in effect",
		Long: "Shows every default, the plugins of each extension point in the order in which they are called, and for each\n" +
			"of them whether it is a default or where in the file it was enabled. Without a file, the default configuration\n" +
			"is shown; - is standard input. -o config prints a configuration file with every default written out, which any\n" +
			"kube-scheduler loads.",
		Example: "  rouse profiles show scheduler.yaml\n" +
			"  rouse profiles show -o config scheduler.yaml > complete.yaml",
		Args: between(0, 1, "one configuration file"),
	}
	profile := addProfileFlag(command)
	output := addOutputFlag(command, configForm)
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
		if output.form == configForm {
			return writeFile(command.OutOrStdout(), &shown)
		}
		view, err := inspect.NewConfiguration(&shown, resolved)
		if err != nil {
			return err
		}
		return writeView(command, output, view, render.Configuration)
	}
	return command
}

// writeFile writes a configuration as a file that can be loaded again.
func writeFile(w io.Writer, config *profiles.Configuration) error {
	text, err := config.YAML()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func (p *program) diffCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "diff FILE [FILE]",
		Short: "Compare two configurations by their effect",
		Long: "Compares two configurations with all defaults filled in and plugins expanded, so two ways to write the\n" +
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
		if err := writeView(command, output, view, render.Differences); err != nil {
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
	var errs []error
	for _, path := range []string{before, after} {
		config, err := p.load(command, path, registry)
		if err == nil {
			var built interface{ Close() error }
			if built, err = buildChecked(command.Context(), config, registry); err == nil {
				err = built.Close()
			}
		}
		configs, errs = append(configs, config), append(errs, err)
	}
	if err := joinErrors(errs); err != nil {
		return nil, err
	}
	known, err := describePlugins(command.Context(), configs[1], registry)
	if err != nil {
		return nil, err
	}
	return inspect.NewDifferences(configs[0], configs[1], known.implements), nil
}

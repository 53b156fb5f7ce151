// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/sets"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/app/internal/options"
	"github.com/rouse-scheduler/rouse/internal/render"
	"github.com/rouse-scheduler/rouse/profiles"
)

func (p *program) runCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "run",
		Short: "Schedule the pods of a cluster",
		Long: "Runs the scheduler against a cluster until it is stopped. It replaces kube-scheduler, or\n" +
			"runs next to it for pods that name one of its profiles in spec.schedulerName. The flags are those of\n" +
			"kube-scheduler.",
		Example: "  rouse run --config scheduler.yaml\n" +
			"  rouse run --config scheduler.yaml --kubeconfig ~/.kube/config --leader-elect=false",
		Args: noArguments,
	}
	o, run := p.addRunFlags(command)
	_ = command.MarkFlagFilename("config", "yaml", "yml", "json") // an error would mean that the flag does not exist
	setSectionedHelp(command, o.Sections())
	command.RunE = run
	return command
}

// runsAlone has a group of commands run the scheduler when it is given flags of it and no command, as the binary of a
// kube-scheduler is. The help text of the group does not show these flags.
func (p *program) runsAlone(group *cobra.Command) {
	o, run := p.addRunFlags(group)
	group.Flags().VisitAll(func(flag *pflag.Flag) { flag.Hidden = true })
	help, version := group.RunE, group.Flags().Lookup("version")
	group.RunE = func(command *cobra.Command, args []string) error {
		asked := version != nil && version.Changed
		for _, flags := range o.Sections().FlagSets {
			flags.VisitAll(func(flag *pflag.Flag) {
				// The flags of the log are those of every command, and say nothing about what it is to do.
				asked = asked || flag.Changed && !o.IsLogFlag(flag)
			})
		}
		if !asked {
			return help(command, args)
		}
		return run(command, args)
	}
}

// addRunFlags gives a command the flags of the scheduler, and returns what runs it with them.
func (p *program) addRunFlags(command *cobra.Command) (*options.Options, func(*cobra.Command, []string) error) {
	o, err := options.New()
	if err != nil { // libraries disagree about feature gates
		return &options.Options{}, func(*cobra.Command, []string) error { return err }
	}
	o.AddFlags(command.Flags())
	showVersion := command.Flags().Bool("version", false, "print the version and exit")
	return o, func(command *cobra.Command, _ []string) error {
		if *showVersion {
			info, _ := debug.ReadBuildInfo()
			return writeVersion(command.OutOrStdout(), versionOf(info), render.Style{})
		}
		return p.run(command, o)
	}
}

func noArguments(command *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError(command, "%q does not take any arguments, got %q", command.CommandPath(), args)
	}
	return nil
}

// setSectionedHelp has the help text show the flags in sections, after those of all commands.
func setSectionedHelp(command *cobra.Command, sections cliflag.NamedFlagSets) {
	width := styleFor(command.OutOrStdout()).Width // zero does not fold lines
	command.SetUsageFunc(func(command *cobra.Command) error {
		writeUsage(command.OutOrStderr(), command, sections, width)
		return nil
	})
	command.SetHelpFunc(func(command *cobra.Command, _ []string) {
		fmt.Fprintf(command.OutOrStdout(), "%s\n\n", command.Long)
		writeUsage(command.OutOrStdout(), command, sections, width)
	})
}

func writeUsage(w io.Writer, command *cobra.Command, sections cliflag.NamedFlagSets, width int) {
	fmt.Fprintf(w, "Usage:\n  %s\n\nExamples:\n%s\n", command.UseLine(), command.Example)
	cliflag.PrintSections(w, sections, width)
}

// run schedules as the flags say until the command's context ends.
func (p *program) run(command *cobra.Command, o *options.Options) error {
	if err := o.Complete(); err != nil {
		return usageError(command, "%w", err)
	}
	if err := logsapi.ValidateAndApply(o.Logs, o.Gates.FeatureGate()); err != nil {
		return usageError(command, "%w", err)
	}
	logger := klog.Background()
	cliflag.PrintFlags(command.Flags())
	registry, err := p.registry()
	if err != nil {
		return err
	}
	config, err := configurationOf(logger, o, registry)
	if err != nil {
		return err
	}
	ctx, stop := catchSignals(command.Context(), logger)
	defer stop()
	haveAll(ctx)
	if err := o.Gates.Apply(logger); err != nil {
		return err
	}
	applyMetrics(o.Metrics)
	return notRunning(logger, schedule(klog.NewContext(ctx, logger), o, config, registry))
}

// schedule runs a scheduler until the context ends, or writes its configuration if that is all that is asked for.
func schedule(ctx context.Context, o *options.Options, config *profiles.Configuration, registry pluginSet) error {
	if o.WriteConfigTo != "" {
		return writeConfiguration(ctx, o, config, registry)
	}
	process, err := newProcess(ctx, o, config, registry)
	if err != nil {
		return err
	}
	defer process.close()
	return process.run(ctx)
}

// unreadableError is about a file that a scheduler needs, such as a kubeconfig or a certificate.
type unreadableError struct{ err error }

// Error implements error.
func (e *unreadableError) Error() string { return e.err.Error() }

// Unwrap returns why the file cannot be read.
func (e *unreadableError) Unwrap() error { return e.err }

// notRunning logs why the scheduler cannot run, or does not any more. The exit code says that it did not do its work; for
// files that cannot be read it is that of wrong usage.
func notRunning(logger klog.Logger, err error) error {
	var unreadable *unreadableError
	if err == nil || errors.As(err, &unreadable) {
		return err
	}
	logger.Error(err, "command failed")
	return &CheckFailedError{} // the log has it
}

// configurationOf returns what the flags and the configuration file come to, and logs what has no effect.
func configurationOf(logger klog.Logger, o *options.Options, registry pluginSet) (*profiles.Configuration, error) {
	config, err := o.Configuration(sets.KeySet(registry.Registry), registry.scheme)
	if err != nil {
		return nil, err
	}
	for _, warning := range config.Warnings {
		logger.Info("Warning: " + warning.Error())
	}
	if ignored := o.Ignored(config); len(ignored) > 0 {
		logger.Info("Warning: deprecated flags have no effect together with --config", "flags", strings.Join(ignored, ","))
	}
	return config, nil
}

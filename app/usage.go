// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

// usageError says what is wrong with a command line and where to read how it is done.
func usageError(command *cobra.Command, format string, args ...any) error {
	return fmt.Errorf(format+"\nSee '%s --help'.", append(args, command.CommandPath())...)
}

// flagError explains a flag that could not be understood.
func flagError(command *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		command.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		return usageError(command, "%w%s", err, didYouMean(unknown.GetSpecifiedName(), names, "--"))
	}
	return usageError(command, "%w", err)
}

// didYouMean returns the end of a message about a name that does not exist; empty if no other is close.
func didYouMean(name string, candidates []string, prefix string) string {
	if suggestion := manifest.Suggest(name, candidates); suggestion != "" {
		return fmt.Sprintf("; did you mean %q?", prefix+suggestion)
	}
	return ""
}

// asGroup makes a command that only has other commands: alone it prints its help, and a command that it does not have
// is an error.
func asGroup(command *cobra.Command) {
	command.Args = func(command *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, sub := range command.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		return usageError(command, "unknown command %q for %q%s", args[0], command.CommandPath(), didYouMean(args[0], names, ""))
	}
	command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
}

// between checks the number of arguments. what names them, such as "a configuration file"; a negative maximum is none.
func between(minimum, maximum int, what string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		switch {
		case len(args) < minimum:
			return usageError(command, "%q needs %s", command.CommandPath(), what)
		case maximum == 0 && len(args) > 0:
			return usageError(command, "%q takes no arguments, but got %q", command.CommandPath(), args[0])
		case maximum >= 0 && len(args) > maximum:
			return usageError(command, "%q takes %s, but got %q as well", command.CommandPath(), what, args[maximum])
		}
		return nil
	}
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/internal/scaffold"
)

// unpublished is the version that go.mod names of a module which is replaced.
const unpublished = "v0.0.0"

func (p *program) newPluginCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a module with a new plugin, ready to build",
		Long: "Writes the module of a scheduler with a plugin of its own: a plugin with PreFilter, Filter, events and a queueing hint,\n" +
			"its arguments, tests, a configuration, a scenario with expectations, a Dockerfile and a README. Files that exist are\n" +
			"never changed.\n\n" +
			"As long as no version of Rouse is published, name a clone of its repository with --replace.",
		Example: "  rouse plugins new RackBudget --replace ../rouse\n" +
			"  rouse plugins new RackBudget --dir scheduler --module example.com/scheduler",
		Args: between(1, 1, "the name of the plugin"),
	}
	folder := command.Flags().String("dir", "", "folder to write to; the name of the plugin in lower case if it is not set")
	path := command.Flags().String("module", "", "path of the module; example.com/ and the name of the plugin in lower case if it is not set")
	replace := command.Flags().String("replace", "", "folder of a clone of Rouse to build against, instead of a published version")
	_ = command.MarkFlagDirname("dir") // an error would mean that the flag does not exist
	_ = command.MarkFlagDirname("replace")
	command.RunE = func(command *cobra.Command, args []string) error {
		registry, err := p.registry()
		if err != nil {
			return err
		}
		module := &scaffold.Module{Name: args[0], Path: *path, Version: ownVersion()}
		if registry.Registry[module.Name] != nil {
			return fmt.Errorf("there is a plugin %s already; choose another name", module.Name)
		}
		if *folder == "" {
			*folder = module.Package()
		}
		if module.Path == "" {
			module.Path = "example.com/" + module.Package()
		}
		if *replace != "" {
			if module.Replace, err = replacement(*folder, *replace); err != nil {
				return err
			}
			module.Version = unpublished
		}
		files, err := scaffold.Write(*folder, module)
		if err != nil {
			return err
		}
		return printNewModule(command, *folder, module, files)
	}
	return command
}

// pseudoVersion is the form of the version of a commit that has none.
var pseudoVersion = regexp.MustCompile(`[0-9]{14}-[0-9a-f]{12}`)

// ownVersion returns the version of Rouse that this program is built from, if it is a published one.
func ownVersion() string {
	info, _ := debug.ReadBuildInfo()
	if own := versionOf(info).Rouse; strings.HasPrefix(own, "v") && !strings.Contains(own, "+") && !pseudoVersion.MatchString(own) {
		return own
	}
	return unpublished
}

// replacement returns the folder of a clone as seen from the folder of the module.
func replacement(folder, clone string) (string, error) {
	from, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(clone)
	if err != nil {
		return "", err
	}
	if err := scaffold.CheckClone(to, modulePath); err != nil {
		return "", err
	}
	relative, err := filepath.Rel(from, to)
	if err != nil {
		return to, nil // on another volume
	}
	if relative = filepath.ToSlash(relative); !strings.HasPrefix(relative, "..") {
		relative = "./" + relative
	}
	return relative, nil
}

func printNewModule(command *cobra.Command, folder string, module *scaffold.Module, files []string) error {
	var b strings.Builder
	for _, file := range files {
		fmt.Fprintf(&b, "%s\n", filepath.Join(folder, file))
	}
	b.WriteString("\nNext:\n")
	fmt.Fprintf(&b, "  cd %s\n", folder)
	if module.Version == unpublished && module.Replace == "" {
		fmt.Fprintf(&b, "  go mod edit -replace %s=PATH-OF-A-CLONE    # no version is published yet\n", modulePath)
	}
	b.WriteString("  go mod tidy\n  go test ./...\n")
	_, err := fmt.Fprint(command.OutOrStdout(), b.String())
	return err
}

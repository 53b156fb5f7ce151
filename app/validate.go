// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/internal/manifest"
	"github.com/rouse-scheduler/rouse/internal/render"
	"github.com/rouse-scheduler/rouse/runtime"
)

// validation is what became of checking files, as JSON and YAML.
type validation struct {
	Files []validatedFile `json:"files"`
}

type validatedFile struct {
	File string `json:"file"`
	// Valid is false if there are errors, or warnings that count as such.
	Valid    bool          `json:"valid"`
	Profiles []string      `json:"profiles"`
	Errors   []fileMessage `json:"errors"`
	Warnings []fileMessage `json:"warnings"`
}

// fileMessage is an error or a warning. Everything but the message may be missing.
type fileMessage struct {
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
	Column     int    `json:"column,omitempty"`
	Field      string `json:"field,omitempty"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

func messagesOf(err error) []fileMessage {
	messages := []fileMessage{}
	if err == nil {
		return messages
	}
	for _, problem := range errorsOf(err) {
		var positioned *manifest.Error
		if errors.As(problem, &positioned) {
			messages = append(messages, fileMessage{
				positioned.File, positioned.Line, positioned.Column, positioned.Field, positioned.Message, positioned.Suggestion,
			})
			continue
		}
		messages = append(messages, fileMessage{Message: problem.Error()})
	}
	return messages
}

// writeValidation writes a line for each file that is valid. Errors and warnings go to standard error.
func writeValidation(w io.Writer, v *validation, _ render.Style) error {
	for _, file := range v.Files {
		if !file.Valid {
			continue
		}
		count := fmt.Sprintf("%d profiles", len(file.Profiles))
		if len(file.Profiles) == 1 {
			count = "1 profile"
		}
		if _, err := fmt.Fprintf(w, "%s: valid, %s\n", file.File, count); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) validateCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check KubeSchedulerConfiguration files",
		Long: "Checks that a scheduler would start with each file: it is read strictly, its plugins are built and put at\n" +
			"their extension points, and the certificates of extenders are read. All errors are printed, with line\n" +
			"and column, and the exit code is 2. With --strict, it is 1 if there are only warnings. The path - is standard input.",
		Example: "  rouse profiles validate scheduler.yaml\n" +
			"  kubectl -n kube-system get configmap scheduler -o jsonpath='{.data.config}' | rouse profiles validate -",
		Args: between(1, -1, "at least one configuration file"),
	}
	strict := command.Flags().Bool("strict", false, "fail if there are warnings")
	output := addOutputFlag(command)
	command.RunE = func(command *cobra.Command, paths []string) error {
		registry, err := p.registry()
		if err != nil {
			return err
		}
		view, errs, warnings := &validation{}, []error(nil), 0
		for _, path := range paths {
			file, err := validate(command, path, registry)
			errs, warnings = append(errs, err), warnings+len(file.Warnings)
			file.Valid = err == nil && !(*strict && len(file.Warnings) > 0)
			view.Files = append(view.Files, file)
		}
		if err := writeView(command, output, view, writeValidation); err != nil {
			return err
		}
		if err := joinErrors(errs); err != nil {
			return err
		}
		if *strict && warnings > 0 {
			return &CheckFailedError{Message: fmt.Sprintf("warnings: %d", warnings)}
		}
		return nil
	}
	return command
}

// validate checks one file. The error has everything that is wrong; warnings go to standard error.
func validate(command *cobra.Command, path string, registry pluginSet) (validatedFile, error) {
	result := validatedFile{File: path, Profiles: []string{}, Warnings: []fileMessage{}}
	config, err := loadConfiguration(command, path, registry)
	if err == nil {
		for _, warning := range config.Warnings {
			warn(command, warning.Error())
		}
		result.Warnings = messagesOf(config.Warnings.Err())
		for i := range config.Profiles {
			result.Profiles = append(result.Profiles, config.Profiles[i].SchedulerName)
		}
		var built runtime.Profiles
		if built, err = buildChecked(command.Context(), config, registry); err == nil {
			for _, renamed := range renamedPlugins(config, built) {
				warn(command, renamed.Error())
				result.Warnings = append(result.Warnings, messagesOf(renamed)...)
			}
			err = built.Close()
		}
		err = joinErrors([]error{err, checkExtenders(config)})
	}
	result.Errors = messagesOf(err)
	return result, err
}

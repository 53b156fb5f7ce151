// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/internal/render"
	"github.com/rouse-scheduler/rouse/simulate"
)

func (p *program) testCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "test PATH...",
		Short: "Run every scenario file by itself and sum up",
		Long: "Runs each file that has a document of kind Scenario on a cluster of its own, as simulate does, and prints a line for\n" +
			"each. Folders are walked; files in them without a Scenario are left out. If an expectation fails the exit code is 1, and\n" +
			"if a file cannot be used it is 2.\n\n" +
			"A scenario is run with the configuration of --config, or else with the one that lies in its own folder, if there is\n" +
			"one. What several scenarios need, such as nodes or CustomResourceDefinitions, is given to each of them by --with.",
		Example: "  rouse test scenarios/\n" +
			"  rouse test --config scheduler.yaml --with nodes.yaml --with crds.yaml scenarios/ other.yaml\n" +
			"  rouse test -o json scenarios/",
		Args: between(1, -1, "at least one file or folder"),
	}
	s := &suite{program: p, command: command}
	s.config = addConfigFlag(command)
	s.output = addOutputFlag(command)
	command.Flags().StringArrayVar(&s.with, "with", nil, "file or folder that every scenario starts with; may be repeated")
	command.Flags().Uint64Var(&s.seed, "seed", 0, "choose differently among equally good nodes")
	command.Flags().BoolVar(&s.trace, "trace", false, "print everything that happened in the scenarios that failed")
	command.RunE = func(_ *cobra.Command, paths []string) error { return s.run(paths) }
	return command
}

// suite is the command test.
type suite struct {
	program *program
	command *cobra.Command
	config  *string
	output  *formFlag
	with    []string
	seed    uint64
	trace   bool
}

// testResult is what became of one file.
type testResult string

const (
	testPassed testResult = "ok"
	testFailed testResult = "failed"
	testBroken testResult = "error"
)

// testedFile is one file of scenarios.
type testedFile struct {
	Path   string     `json:"path"`
	Result testResult `json:"result"`
	// Expectations is how many checks of pods the file has.
	Expectations int `json:"expectations"`
	// Failures are the expectations that failed, each with file, line and column.
	Failures []string `json:"failures"`
	// Error is why the file could not be run.
	Error string            `json:"error,omitempty"`
	Run   *simulate.Summary `json:"summary,omitempty"`
	trace []simulate.TraceEntry
}

// testReport is what the command comes to.
type testReport struct {
	Summary struct {
		Files        int     `json:"files"`
		Passed       int     `json:"passed"`
		Failed       int     `json:"failed"`
		Errors       int     `json:"errors"`
		Expectations int     `json:"expectations"`
		Failures     int     `json:"failures"`
		WallSeconds  float64 `json:"wallSeconds"`
	} `json:"summary"`
	Files []*testedFile `json:"files"`
}

func (s *suite) run(paths []string) error {
	defer collectGarbageEarly()()
	registry, err := s.program.registry()
	if err != nil {
		return err
	}
	files, err := scenarioFiles(paths)
	if err != nil {
		return err
	}
	start, report := time.Now(), &testReport{}
	for _, path := range files {
		file := s.test(path, registry)
		if err := s.command.Context().Err(); err != nil {
			return fmt.Errorf("interrupted in %s: %w", path, err)
		}
		report.add(file)
		if s.output.form == textForm {
			if err := s.print(file); err != nil {
				return err
			}
		}
	}
	report.Summary.WallSeconds = time.Since(start).Seconds()
	if err := writeView(s.command, s.output, report, printTests); err != nil {
		return err
	}
	return report.err()
}

// scenarioFiles returns the files to run, in the order of the paths.
func scenarioFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		if err := filepath.WalkDir(path, func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
			return nil, fmt.Errorf("looking for scenarios in %s: %w", path, err)
		}
		for _, file := range expandFolders([]string{path}) {
			if hasScenario(file) {
				files = append(files, file)
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no file in %s has a document of kind Scenario (apiVersion rouse/v1alpha1)", strings.Join(paths, ", "))
	}
	return files, nil
}

// test runs one file.
func (s *suite) test(path string, registry pluginSet) *testedFile {
	file := &testedFile{Path: path, Result: testBroken, Failures: []string{}}
	report, err := s.simulate(file, registry)
	if err != nil {
		file.Error = err.Error()
		return file
	}
	file.Result, file.Run, file.trace = testPassed, &report.Summary, report.Trace
	for _, failure := range report.Failures {
		file.Result = testFailed
		file.Failures = append(file.Failures, failure.String())
	}
	return file
}

func (s *suite) simulate(file *testedFile, registry pluginSet) (*simulate.Report, error) {
	ctx, path := s.command.Context(), file.Path
	if isConfiguration(path) {
		return nil, fmt.Errorf("%s is a %s, not a scenario; use it with --config", path, configurationKind)
	}
	chosen, err := s.configurationFor(path)
	if err != nil {
		return nil, err
	}
	config, err := s.program.load(s.command, chosen, registry)
	if err != nil {
		return nil, err
	}
	if err := leaveOutExtenders(s.command, config); err != nil {
		return nil, err
	}
	input, err := simulate.Load(append(append([]string{}, s.with...), path), simulate.LoadOptions{Stdin: s.command.InOrStdin(), Once: true})
	if err != nil {
		return nil, err
	}
	if file.Expectations = input.Expectations(); file.Expectations == 0 {
		return nil, fmt.Errorf("%s: nothing is expected of any pod; write a Scenario with an expect step", path)
	}
	options := simulate.Options{
		Configuration: config, Registry: registry.Registry, Scheme: registry.scheme, CustomResources: input.CustomResources(), Seed: s.seed, Trace: s.trace, Logger: logger(),
	}
	bar := showProgress(s.command, &options, false)
	defer bar.clear()
	cluster, err := simulate.NewCluster(ctx, options)
	if err != nil {
		return nil, locate(ctx, err, config, registry)
	}
	defer cluster.Close()
	if err := cluster.Replay(input); err != nil {
		return nil, err
	}
	report := cluster.Report()
	for _, warning := range report.Warnings {
		warn(s.command, warning)
	}
	return report, nil
}

// configurationFor returns the configuration that a file is run with; empty for the default one.
func (s *suite) configurationFor(path string) (string, error) {
	if *s.config != "" {
		return *s.config, nil
	}
	folder := filepath.Dir(path)
	var found []string
	for _, extension := range inputExtensions() {
		names, err := filepath.Glob(filepath.Join(folder, "*"+extension))
		if err != nil {
			return "", err
		}
		for _, name := range names {
			if isConfiguration(name) {
				found = append(found, name)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%s has several configurations, %s: choose one with --config", folder, strings.Join(found, " and "))
}

func (r *testReport) add(file *testedFile) {
	r.Files = append(r.Files, file)
	r.Summary.Files++
	r.Summary.Expectations += file.Expectations
	r.Summary.Failures += len(file.Failures)
	switch file.Result {
	case testPassed:
		r.Summary.Passed++
	case testFailed:
		r.Summary.Failed++
	case testBroken:
		r.Summary.Errors++
	}
}

// err is the error that has the exit code of the result. What went wrong is printed already.
func (r *testReport) err() error {
	switch {
	case r.Summary.Errors > 0:
		return fmt.Errorf("scenario files that could not be run: %d of %d", r.Summary.Errors, r.Summary.Files)
	case r.Summary.Failed > 0:
		return &CheckFailedError{}
	}
	return nil
}

// print prints the line of a file, and below it what went wrong.
func (s *suite) print(file *testedFile) error {
	out := s.command.OutOrStdout()
	style := styleFor(out)
	var b strings.Builder
	switch file.Result {
	case testPassed:
		fmt.Fprintf(&b, "ok      %s  (%s)\n", file.Path, counted(file.Expectations, "expectation"))
	case testFailed:
		fmt.Fprintf(&b, "FAILED  %s  (%d of %s)\n", file.Path, len(file.Failures), counted(file.Expectations, "expectation"))
	case testBroken:
		fmt.Fprintf(&b, "ERROR   %s\n", file.Path)
	}
	if file.Result == testFailed && s.trace {
		for _, entry := range file.trace {
			b.WriteString("        " + render.TraceLine(entry, style) + "\n")
		}
	}
	for _, line := range append(file.Failures, strings.Split(file.Error, "\n")...) {
		if line != "" {
			b.WriteString("        " + line + "\n")
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// printTests prints the summary; the lines of the files are printed already.
func printTests(w io.Writer, report *testReport, _ render.Style) error {
	s := &report.Summary
	text := fmt.Sprintf("\n%s: %d ok, %d failed", counted(s.Files, "file"), s.Passed, s.Failed)
	if s.Errors > 0 {
		text += fmt.Sprintf(", %d could not be run", s.Errors)
	}
	_, err := fmt.Fprintf(w, "%s; %s, %d failed\n", text, counted(s.Expectations, "expectation"), s.Failures)
	return err
}

// counted returns a number of things in words.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

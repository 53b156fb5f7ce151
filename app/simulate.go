// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/rouse-scheduler/rouse/internal/render"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/simulate"
)

// clusterInput prints a cluster as simulate, explain and audit read it.
const clusterInput = "kubectl get " + simulate.KubectlResources + " -A -o yaml"

func (p *program) simulateCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "simulate PATH...",
		Short: "Replay manifests and scenarios in an in-memory cluster",
		Long: "Reads files and folders of YAML or JSON, creates the objects in an in-memory cluster and lets the scheduler\n" +
			"run until nothing more happens. Time is virtual and every run has the same result. A document of kind\n" +
			"Scenario is a timeline of changes and of expectations about pods; if one is not met, the exit code is 1.\n\n" +
			"Lists that kubectl printed can be read as they are. The path - is standard input. A scheduler configuration\n" +
			"among the files is used unless --config names another.",
		Example: "  " + clusterInput + " | rouse simulate -\n" +
			"  rouse simulate --config scheduler.yaml cluster.yaml scenario.yaml\n" +
			"  rouse simulate -o html scenario.yaml > report.html",
		Args: between(1, -1, "at least one file or folder"),
	}
	s := &simulation{program: p}
	s.config = addConfigFlag(command)
	s.output = addOutputFlag(command, htmlForm)
	command.Flags().Uint64Var(&s.seed, "seed", 0, "seed of the choice among equally good nodes")
	command.Flags().BoolVar(&s.trace, "trace", false, "include everything that happened in JSON and YAML; text and HTML always do")
	command.Flags().BoolVarP(&s.quiet, "quiet", "q", false, "only the summary of the text output")
	command.RunE = s.run
	return command
}

// simulation is the command simulate.
type simulation struct {
	program *program
	config  *string
	output  *formFlag
	seed    uint64
	trace   bool
	quiet   bool
}

func (s *simulation) run(command *cobra.Command, paths []string) error {
	defer collectGarbageEarly()()
	registry, err := s.program.registry()
	if err != nil {
		return err
	}
	config, input, err := s.program.readInput(command, *s.config, paths, registry)
	if err != nil {
		return err
	}
	options := simulate.Options{
		Configuration:   config,
		Registry:        registry.Registry,
		Scheme:          registry.scheme,
		CustomResources: input.CustomResources(),
		Seed:            s.seed,
		Trace:           s.output.form == htmlForm || s.trace && s.output.form != textForm,
		Logger:          logger(),
	}
	endTrace := s.streamTrace(command, &options)
	bar := showProgress(command, &options, s.streams())
	start := time.Now()
	cluster, err := simulate.NewCluster(command.Context(), options)
	if err != nil {
		return locate(command.Context(), err, config, registry)
	}
	defer cluster.Close()
	err = cluster.Replay(input)
	bar.clear()
	if flushErr := endTrace(); err == nil {
		err = flushErr
	}
	if err != nil {
		return interrupted(command.Context(), err, cluster.Now())
	}
	report := cluster.Report()
	report.Summary.WallSeconds = time.Since(start).Seconds()
	for _, warning := range report.Warnings {
		warn(command, warning)
	}
	if err := s.write(command, report); err != nil {
		return err
	}
	return failedExpectations(report)
}

// readInput reads everything that is to be simulated, and the configuration: the one that the user named, if it is not
// empty, or one that is among the rest.
func (p *program) readInput(command *cobra.Command, named string, paths []string, registry pluginSet) (*profiles.Configuration, *simulate.Input, error) {
	found, paths := splitInput(paths)
	path, err := chooseConfiguration(command, named, found)
	if err != nil {
		return nil, nil, err
	}
	config, err := p.load(command, path, registry)
	if err != nil {
		return nil, nil, err
	}
	if err := leaveOutExtenders(command, config); err != nil {
		return nil, nil, err
	}
	input, err := simulate.Load(paths, simulate.LoadOptions{Stdin: command.InOrStdin(), Once: true})
	return config, input, err
}

// leaveOutExtenders takes the extenders out of a configuration, after their settings for the plugins have had their
// effect. No extender knows the cluster of a simulation.
func leaveOutExtenders(command *cobra.Command, config *profiles.Configuration) error {
	if len(config.Extenders) == 0 {
		return nil
	}
	if _, err := config.ApplyExtenders(); err != nil {
		return fmt.Errorf("%s: %w", config.Source, err)
	}
	config.Extenders = nil
	warn(command, config.Source+": the extenders are left out of the simulation")
	return nil
}

// streams reports whether the trace is printed as it happens.
func (s *simulation) streams() bool { return s.output.form == textForm && !s.quiet }

// streamTrace prints what happens as it happens if the output is text. The function that it returns prints what is
// left.
func (s *simulation) streamTrace(command *cobra.Command, options *simulate.Options) (end func() error) {
	if !s.streams() {
		return func() error { return nil }
	}
	out := command.OutOrStdout()
	style, terminal := styleFor(out), isTerminal(out)
	buffered := bufio.NewWriter(out)
	options.Observer = func(entry simulate.TraceEntry) {
		buffered.WriteString(render.TraceLine(entry, style) + "\n") // an error is remembered for Flush
		if terminal {
			buffered.Flush()
		}
	}
	return buffered.Flush
}

// showProgress draws a progress bar on standard error if that is a terminal on which nothing else is printed. streams
// reports that lines are printed meanwhile on standard output.
func showProgress(command *cobra.Command, options *simulate.Options, streams bool) *progressBar {
	bar := &progressBar{w: io.Discard, start: time.Now()}
	file, ok := command.ErrOrStderr().(*os.File)
	printing := streams && isTerminal(command.OutOrStdout())
	if !ok || printing || !term.IsTerminal(int(file.Fd())) {
		return bar
	}
	bar.w = file
	bar.width, _, _ = term.GetSize(int(file.Fd())) // zero does not limit the line
	options.Progress = func(progress simulate.Progress) { bar.update(time.Now(), progress) }
	return bar
}

// write writes the report. What was streamed is not in it.
func (s *simulation) write(command *cobra.Command, report *simulate.Report) error {
	out := command.OutOrStdout()
	if s.output.form == htmlForm {
		return render.ReportHTML(out, report)
	}
	if s.streams() {
		fmt.Fprintln(out)
	}
	return writeView(command, s.output, report, render.Report)
}

func failedExpectations(report *simulate.Report) error {
	if len(report.Failures) == 0 {
		return nil
	}
	lines := make([]string, 0, len(report.Failures))
	for _, failure := range report.Failures {
		lines = append(lines, failure.String())
	}
	return &CheckFailedError{Message: strings.Join(lines, "\n")}
}

// interrupted says how far a simulation came that the user stopped.
func interrupted(ctx context.Context, err error, now simulate.Time) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("interrupted at %v of virtual time: %w", now, err)
}

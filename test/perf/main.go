// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rouse-scheduler/rouse/test/programs"
	"github.com/rouse-scheduler/rouse/test/reportfile"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) > 1 && os.Args[1] == workerCommand {
		err = work(ctx, os.Stdin, os.Stdout)
	} else {
		err = start(ctx, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
		os.Exit(1)
	}
}

// scheduler is who does the work.
type scheduler struct {
	name      string
	binary    string
	arguments []string
}

// The schedulers, under their names in flags and reports.
const (
	rouse         = "rouse"
	kubeScheduler = "kube-scheduler"
)

// schedulersIn returns the schedulers whose binaries are in a folder.
func schedulersIn(folder string) []scheduler {
	return []scheduler{
		{name: kubeScheduler, binary: filepath.Join(folder, programs.KubeScheduler().Name)},
		{name: rouse, binary: filepath.Join(folder, programs.Rouse().Name), arguments: []string{"run"}},
	}
}

// command is what the flags say.
type command struct {
	topic, size    *regexp.Regexp
	labels         []string
	schedulers     []string
	runs           int
	timeout        time.Duration
	json, from     string
	page, profiles string
	list, resume   bool
	// kubernetes is the folder of the module k8s.io/kubernetes.
	kubernetes string
}

func parse(args []string) (*command, error) {
	c := &command{}
	flags := flag.NewFlagSet("perf", flag.ContinueOnError)
	topic := flags.String("topic", os.Getenv("TOPIC"), "regular expression for topic/case, such as misc or Spreading$ (environment: TOPIC)")
	size := flags.String("size", os.Getenv("SIZE"), "regular expression for the name of the size, such as ^500Nodes (environment: SIZE)")
	labels := flags.String("labels", os.Getenv("LABELS"),
		"labels that a workload must have, or with a minus must not have (environment: LABELS; short,integration-test if nothing else is chosen)")
	who := flags.String("schedulers", kubeScheduler+","+rouse, "who does the work")
	flags.IntVar(&c.runs, "runs", 1, "how often each scheduler does it")
	flags.DurationVar(&c.timeout, "timeout", 15*time.Minute, "how long one run may take")
	flags.StringVar(&c.json, "json", "", "write the report as JSON to this file after every workload")
	flags.BoolVar(&c.resume, "resume", false, "keep what the file of -json has, and run the other workloads")
	flags.StringVar(&c.from, "from", "", "do not run anything; take the report from this JSON file")
	flags.StringVar(&c.page, "page", "", "fill in the tables of this Markdown page")
	flags.StringVar(&c.profiles, "profiles", "", "folder for CPU profiles of the first seconds of each measured phase")
	flags.BoolVar(&c.list, "list", false, "only list the workloads")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var errTopic, errSize error
	c.topic, errTopic = regexp.Compile(*topic)
	c.size, errSize = regexp.Compile(*size)
	if err := errors.Join(errTopic, errSize); err != nil {
		return nil, err
	}
	if *topic == "" && *size == "" && *labels == "" {
		*labels = "short,integration-test"
	}
	c.labels, c.schedulers = split(*labels), split(*who)
	if c.runs < 1 {
		return nil, errors.New("-runs: at least one run is needed")
	}
	if c.resume && c.json == "" {
		return nil, errors.New("-resume: name the report to go on with, by -json")
	}
	return c, nil
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// selects reports whether a workload is chosen.
func (c *command) selects(w *workload) bool {
	if !c.topic.MatchString(w.Topic+"/"+w.Case) || !c.size.MatchString(w.Size) {
		return false
	}
	for _, label := range c.labels {
		name, unwanted := strings.CutPrefix(label, "-")
		if slices.Contains(w.Labels, strings.TrimPrefix(name, "+")) == unwanted {
			return false
		}
	}
	return true
}

func start(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	if c.from != "" {
		report, err := reportfile.Read[Report](c.from, Format)
		if err != nil {
			return err
		}
		return c.publish(report)
	}
	if c.kubernetes, err = programs.ModuleFolder(ctx, "k8s.io/kubernetes"); err != nil {
		return err
	}
	all, err := loadSuite(filepath.Join(c.kubernetes, filepath.FromSlash(suiteFolder)))
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(all, func(w *workload) bool { return !c.selects(w) })
	if len(chosen) == 0 {
		return errors.New("no workload has this topic, size and labels; -list without them lists all")
	}
	if c.list {
		return list(os.Stdout, chosen)
	}
	report, err := c.runAll(ctx, chosen)
	if report == nil {
		return err
	}
	return errors.Join(err, c.publish(report))
}

// publish writes a report.
func (c *command) publish(report *Report) error {
	if c.page != "" {
		if err := fillPage(c.page, report); err != nil {
			return err
		}
	}
	return writeTable(os.Stdout, report.Rows)
}

// list prints the names and the labels of workloads, and what Rouse does not build.
func list(to io.Writer, workloads []*workload) error {
	for _, w := range workloads {
		line := w.name()
		if len(w.Labels) > 0 {
			line += " [" + strings.Join(w.Labels, " ") + "]"
		}
		if missing, err := w.unbuilt(); err != nil {
			line += ": " + err.Error()
		} else if missing != "" {
			line += ": Rouse does not build " + missing
		}
		if _, err := fmt.Fprintln(to, line); err != nil {
			return err
		}
	}
	return nil
}

// runAll runs workloads with each scheduler in turn, and returns what came out, even if some failed.
func (c *command) runAll(ctx context.Context, workloads []*workload) (*Report, error) {
	report, err := c.newReport()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "perf")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	fmt.Fprintln(os.Stderr, "building the schedulers")
	if err := programs.Build(ctx, folder, nil, programs.Rouse(), programs.KubeScheduler()); err != nil {
		return nil, err
	}
	var failures []error
	for i, w := range workloads {
		if ctx.Err() != nil {
			break
		}
		if report.has(w) {
			continue
		}
		fmt.Fprintf(os.Stderr, "workload %d of %d: %s\n", i+1, len(workloads), w.name())
		row := c.measure(ctx, schedulersIn(folder), w)
		for _, who := range c.schedulers {
			if message := row.Failures[who]; message != "" {
				failures = append(failures, fmt.Errorf("%s with %s: %s", w.name(), who, message))
			}
		}
		report.Rows = append(report.Rows, row)
		failures = append(failures, c.save(report))
	}
	return report, errors.Join(append(failures, ctx.Err())...)
}

// measure runs one workload. kube-scheduler alone runs what Rouse does not build.
func (c *command) measure(ctx context.Context, schedulers []scheduler, w *workload) Row {
	row := Row{
		Topic: w.Topic, Case: w.Case, Size: w.Size, Threshold: w.Threshold,
		Results: map[string][]Outcome{}, Failures: map[string]string{},
	}
	var err error
	if row.Unbuilt, err = w.unbuilt(); err != nil {
		for _, who := range c.schedulers {
			row.Failures[who] = err.Error()
		}
		return row
	}
	for number := range c.runs {
		for _, who := range schedulers {
			if !slices.Contains(c.schedulers, who.name) || row.Failures[who.name] != "" || ctx.Err() != nil {
				continue
			}
			if row.Unbuilt != "" {
				fmt.Fprintf(os.Stderr, "%s is left out: Rouse does not build %s\n", w.name(), row.Unbuilt)
				return row
			}
			outcome, err := c.runOnce(ctx, who, w, number)
			if err != nil {
				row.Failures[who.name] = err.Error()
				fmt.Fprintln(os.Stderr, err)
				continue
			}
			row.Results[who.name] = append(row.Results[who.name], *outcome)
		}
	}
	return row
}

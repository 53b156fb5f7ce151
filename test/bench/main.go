// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/test/reportfile"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// What kube-scheduler logs at its default verbosity is formatted as usual, and then dropped.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// command is what the flags say.
type command struct {
	selection
	jsonFile, from, figures, page, trace string
	list, resume                         bool
}

func parse(args []string) (*command, error) {
	c := &command{selection: selection{progress: os.Stderr, contenders: map[Contender]bool{}}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&c.full, "full", false, "measure all rows, not only the quick ones")
	rows := flags.String("rows", os.Getenv("ROWS"), "measure the rows whose workload/case/size matches this regular expression (environment: ROWS)")
	contenders := flags.String("contenders", "", "comma-separated; only these take part: "+fmt.Sprint(contendersInOrder()))
	flags.IntVar(&c.runs, "runs", 3, "how often each contender does the work")
	flags.IntVar(&c.stretch, "stretch", 1, "make each run of decisions and idle events so many times longer, for profiles with more samples")
	flags.StringVar(&c.jsonFile, "json", "", "write the report as JSON to this file after every row")
	flags.BoolVar(&c.resume, "resume", false, "keep the rows that the file of -json has, and measure the others")
	flags.StringVar(&c.from, "from", "", "do not measure; take the report from this JSON file")
	flags.StringVar(&c.figures, "figures", "", "draw figures (SVG) of the report into this folder")
	flags.StringVar(&c.page, "page", "", "fill in the tables of this Markdown page with the report")
	flags.StringVar(&c.profiles, "profiles", "", "write CPU and allocation profiles of the first run of each row to this directory")
	flags.StringVar(&c.trace, "openb", os.Getenv("OPENB"),
		"folder with nodes.csv and pods.csv of the openb trace (environment: OPENB); empty leaves its row out")
	flags.BoolVar(&c.list, "list", false, "only list the names of the rows")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if c.runs < 1 {
		return nil, errors.New("-runs: at least one run is needed")
	}
	if c.resume && c.jsonFile == "" {
		return nil, errors.New("-resume: name the report to go on with, by -json")
	}
	if *rows != "" {
		var err error
		if c.rows, err = regexp.Compile(*rows); err != nil {
			return nil, fmt.Errorf("-rows: %w", err)
		}
	}
	for name := range strings.SplitSeq(*contenders, ",") {
		if name != "" {
			c.contenders[Contender(name)] = true
		}
	}
	return c, nil
}

func run(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	groups := allGroups(c.trace)
	if c.list {
		return listRows(os.Stdout, c.selection, groups)
	}
	report, err := c.report(ctx, groups)
	if report == nil {
		return err
	}
	if err := errors.Join(err, writeTable(os.Stdout, report.Rows)); err != nil {
		return err
	}
	return c.publish(report)
}

// report measures, or reads what was measured before. Of what fails when rows have been measured, there is a report too.
func (c *command) report(ctx context.Context, groups []group) (*Report, error) {
	if c.from != "" {
		return reportfile.Read[Report](c.from, Format)
	}
	report := &Report{Format: Format, Started: time.Now().UTC(), Machine: thisMachine(), Runs: c.runs}
	if c.resume {
		earlier, err := reportfile.Read[Report](c.jsonFile, Format)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case earlier.Machine != report.Machine || earlier.Runs != report.Runs:
			return nil, fmt.Errorf("-resume: the report in %s is of %d runs on %+v, not of %d on %+v",
				c.jsonFile, earlier.Runs, earlier.Machine, report.Runs, report.Machine)
		default:
			report = earlier
		}
	}
	return report, c.measure(ctx, groups, report, func() error {
		if c.jsonFile == "" {
			return nil
		}
		return reportfile.Write(c.jsonFile, report)
	})
}

// publish draws and fills in what is asked for.
func (c *command) publish(report *Report) error {
	var failures []error
	if c.figures != "" {
		failures = append(failures, drawFigures(c.figures, report))
	}
	if c.page != "" {
		failures = append(failures, fillPage(c.page, report))
	}
	return errors.Join(failures...)
}

// allGroups is everything that can be measured.
func allGroups(traceDir string) []group {
	return slices.Concat(eventGroups(), decisionGroups(), profileGroups(), deviceGroups(), volumeGroups(), neighbourGroups(), questionGroups(), liveGroups(), keptGroups(), startGroups(), endToEndGroups(), traceGroups(traceDir))
}

func listRows(to io.Writer, s selection, groups []group) error {
	for _, g := range groups {
		for i := range g.work {
			if s.wants(&g.work[i]) {
				fmt.Fprintln(to, g.work[i].name())
			}
		}
	}
	return nil
}

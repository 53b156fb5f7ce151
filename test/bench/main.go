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
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// What kube-scheduler logs at its default verbosity is formatted as usual, and then dropped.
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	full := flags.Bool("full", false, "measure all rows, not only the quick ones")
	rows := flags.String("rows", os.Getenv("ROWS"), "only rows whose workload/case/size matches this regular expression (environment: ROWS)")
	contenders := flags.String("contenders", "", "comma-separated; only these take part: "+fmt.Sprint(contendersInOrder()))
	runs := flags.Int("runs", 3, "how often each contender does the work")
	stretch := flags.Int("stretch", 1, "make each run of decisions and idle events so many times longer, for profiles with more samples")
	jsonFile := flags.String("json", "", "also write the report as JSON to this file")
	profiles := flags.String("profiles", "", "write CPU and allocation profiles of the first run of each row to this directory")
	trace := flags.String("openb", os.Getenv("OPENB"), "folder with nodes.csv and pods.csv of the openb trace (environment: OPENB); empty leaves its row out")
	list := flags.Bool("list", false, "only list the names of the rows")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s := selection{full: *full, runs: *runs, stretch: *stretch, progress: os.Stderr, profiles: *profiles, contenders: map[Contender]bool{}}
	if *runs < 1 {
		return errors.New("-runs: at least one run is needed")
	}
	if *rows != "" {
		var err error
		if s.rows, err = regexp.Compile(*rows); err != nil {
			return fmt.Errorf("-rows: %w", err)
		}
	}
	for name := range strings.SplitSeq(*contenders, ",") {
		if name != "" {
			s.contenders[Contender(name)] = true
		}
	}
	groups := allGroups(*trace)
	if *list {
		return listRows(os.Stdout, s, groups)
	}
	report := Report{Format: Format, Started: time.Now().UTC(), Machine: thisMachine(), Runs: *runs}
	var failure error
	report.Rows, failure = s.measure(ctx, groups)
	if err := writeTable(os.Stdout, report.Rows); err != nil {
		return err
	}
	return errors.Join(failure, writeJSON(*jsonFile, &report))
}

// allGroups is everything that can be measured.
func allGroups(traceDir string) []group {
	return slices.Concat(eventGroups(), decisionGroups(), liveGroups(), keptGroups(), traceGroups(traceDir))
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

func writeJSON(name string, report *Report) error {
	if name == "" {
		return nil
	}
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return errors.Join(report.write(file), file.Close())
}

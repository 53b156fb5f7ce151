// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/internal/render"
)

func (p *program) auditCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "audit PATH...",
		Short: "Check whether every event woke the pods that it made schedulable",
		Long: "Replays manifests and scenarios as simulate does. After every event, the plugins evaluate the waiting pods again,\n" +
			"regardless of the events that they registered and of the answers of their queueing hints. A pod that was not\n" +
			"woken although it would now fit is a missed wake-up: in a cluster it would wait for minutes until it is tried\n" +
			"anyway. The exit code is 1 if there are missed wake-ups, or if a plugin failed.",
		Example: "  " + clusterInput + " > cluster.yaml\n" +
			"  rouse audit cluster.yaml scenario.yaml\n" +
			"  rouse audit --config scheduler.yaml -o json scenario.yaml",
		Args: between(1, -1, "at least one file or folder"),
	}
	r := p.newReplay(command)
	output := addOutputFlag(command)
	command.RunE = func(command *cobra.Command, paths []string) error {
		defer collectGarbageEarly()()
		start := time.Now()
		auditor := inspect.NewAuditor(command.Context())
		cluster, err := r.run(command, paths, auditor, nil)
		if err != nil {
			return err
		}
		defer cluster.Close()
		audit := auditor.Audit()
		audit.Summary.WallSeconds = time.Since(start).Seconds()
		if err := writeView(command, output, audit, render.Audit); err != nil {
			return err
		}
		return auditFailed(audit)
	}
	return command
}

// auditFailed is the error of an audit that found something; nil if all is well.
func auditFailed(audit *inspect.Audit) error {
	var found []string
	if missed := audit.Summary.MissedWakeups; missed > 0 {
		found = append(found, fmt.Sprintf("missed wake-ups: %d", missed))
	}
	if failed := audit.Summary.Failed; failed > 0 {
		found = append(found, fmt.Sprintf("failures of plugins: %d", failed))
	}
	if audit.Incomplete {
		found = append(found, "the audit could not be completed; see the warnings")
	}
	if len(found) == 0 {
		return nil
	}
	return &CheckFailedError{Message: strings.Join(found, "\n")}
}

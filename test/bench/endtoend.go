// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rouse-scheduler/rouse/test/programs"
)

// An end-to-end row runs the binaries of both schedulers, as processes of their own, on a real kube-apiserver and etcd:
// see the program realapi.

// endToEndCase is a row. What is wanted of the larger ones is throughput, and that the scheduler takes less CPU time.
type endToEndCase struct {
	shape             shape
	nodes, pods       int
	target, cpuTarget float64
	quick             bool
}

func endToEndCases() []endToEndCase {
	return []endToEndCase{
		{shape: basic, nodes: 1_000, pods: 2_000, quick: true},
		{shape: basic, nodes: 5_000, pods: 5_000, target: 1, cpuTarget: 3},
		{shape: spread, nodes: 1_000, pods: 2_000, quick: true},
		{shape: spread, nodes: 5_000, pods: 5_000, target: 1.5, cpuTarget: 6},
	}
}

func endToEndGroups() []group {
	built := &binaries{}
	g := group{close: built.remove}
	for _, c := range endToEndCases() {
		w := work{
			Row: Row{
				Workload: "cluster", Case: string(c.shape), Size: c.nodes, Unit: "nodes",
				Metric: WallNanos, Target: c.target, CPUTarget: c.cpuTarget,
			},
			runs:  map[Contender]func(context.Context, *meter) (Sample, error){},
			quick: c.quick,
		}
		for _, who := range []Contender{Rouse, KubeScheduler} {
			w.runs[who] = func(ctx context.Context, _ *meter) (Sample, error) { return built.measure(ctx, who, c) }
		}
		g.work = append(g.work, w)
	}
	return []group{g}
}

// binaries are built when they are first needed. The current folder must be in the module of this program.
type binaries struct {
	folder string
}

func (p *binaries) build(ctx context.Context) error {
	if p.folder != "" {
		return nil
	}
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	realAPI := programs.Program{Name: "realapi", Package: "./bench/realapi"}
	if err := programs.Build(ctx, folder, nil, realAPI, programs.KubeScheduler(), programs.Rouse()); err != nil {
		return err
	}
	p.folder = folder
	return nil
}

func (p *binaries) remove() {
	if p.folder != "" {
		_ = os.RemoveAll(p.folder)
	}
}

func (p *binaries) measure(ctx context.Context, who Contender, c endToEndCase) (Sample, error) {
	if err := p.build(ctx); err != nil {
		return nil, err
	}
	scheduler := programs.KubeScheduler()
	if who == Rouse {
		scheduler = programs.Rouse()
	}
	arguments := []string{
		"-binary", filepath.Join(p.folder, scheduler.Name), "-shape", string(c.shape),
		"-nodes", strconv.Itoa(c.nodes), "-pods", strconv.Itoa(c.pods),
	}
	if who == Rouse {
		arguments = append(arguments, "-command", "run")
	}
	var complaints strings.Builder
	command := exec.CommandContext(ctx, filepath.Join(p.folder, "realapi"), arguments...)
	command.Stderr = &complaints
	// When it is asked to end, it leaves nothing behind.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Minute
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("running %s on a real API server: %w\n%s", who, err, lastLines(complaints.String(), 20))
	}
	sample := Sample{}
	if err := json.Unmarshal(output, &sample); err != nil {
		return nil, fmt.Errorf("reading what realapi measured: %w", err)
	}
	return sample, nil
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// workerCommand is the first argument of the process that runs one workload with one scheduler.
const workerCommand = "worker"

// task is what such a process does, as JSON on its standard input.
type task struct {
	Suite     string        `json:"suite"`
	Workload  string        `json:"workload"`
	Scheduler string        `json:"scheduler"`
	Binaries  string        `json:"binaries"` // folder
	Profile   string        `json:"profile"`
	Timeout   time.Duration `json:"timeout"`
}

// answer is what it prints.
type answer struct {
	Outcome *Outcome `json:"outcome,omitempty"`
	Failure string   `json:"failure,omitempty"`
}

// progressFile is the number of the file that such a process prints its progress to; standard error has the log.
const progressFile = 3

// runOnce runs a workload once with one scheduler, in a process of its own: feature gates of the API server are those of
// the process.
func (c *command) runOnce(ctx context.Context, who scheduler, w *workload, number int) (*Outcome, error) {
	t := task{
		Suite: w.suite, Workload: w.name(), Scheduler: who.name, Binaries: filepath.Dir(who.binary), Timeout: c.timeout,
	}
	if c.profiles != "" && number == 0 {
		folder, err := filepath.Abs(c.profiles)
		if err != nil {
			return nil, err
		}
		t.Profile = filepath.Join(folder, strings.ReplaceAll(w.name(), "/", "-")+"-"+who.name+".pprof")
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	return t.runIn(ctx, sources(c.kubernetes), program, workerCommand)
}

// runIn does a task in a new process.
func (t *task) runIn(ctx context.Context, environment []string, program string, arguments ...string) (*Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout+2*time.Minute)
	defer cancel()
	input, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	var log strings.Builder
	command := exec.CommandContext(ctx, program, arguments...)
	command.Stdin, command.Stderr = strings.NewReader(string(input)), &log
	command.ExtraFiles = []*os.File{os.Stderr}
	command.Env = append(os.Environ(), environment...)
	// When it is asked to end, it leaves nothing behind.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Minute
	output, err := command.Output()
	var said answer
	if errOutput := json.Unmarshal(output, &said); errOutput != nil || said.Outcome == nil && said.Failure == "" {
		return nil, fmt.Errorf("%s with %s: %w\n%s", t.Workload, t.Scheduler, errors.Join(err, errOutput), lastLines(log.String(), 20))
	}
	if said.Failure != "" {
		return nil, errors.New(said.Failure)
	}
	return said.Outcome, nil
}

// sources are environment variables by which the API server, which is made for tests, finds its own sources if the program
// was built without paths. The module k8s.io/kubernetes is in a folder of all modules.
func sources(kubernetes string) []string {
	if _, file, _, _ := runtime.Caller(0); filepath.IsAbs(file) {
		return nil
	}
	modules := filepath.Dir(filepath.Dir(kubernetes))
	return []string{"TEST_SRCDIR=" + filepath.Dir(modules), "TEST_WORKSPACE=" + filepath.Base(modules)}
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

// work does the task that standard input has.
func work(ctx context.Context, input io.Reader, to io.Writer) error {
	var t task
	if err := json.NewDecoder(input).Decode(&t); err != nil {
		return fmt.Errorf("reading the task: %w", err)
	}
	var said answer
	var err error
	if said.Outcome, err = t.do(ctx, os.NewFile(progressFile, "progress")); err != nil {
		said = answer{Failure: err.Error()}
	}
	return json.NewEncoder(to).Encode(said)
}

func (t *task) do(ctx context.Context, progress io.Writer) (*Outcome, error) {
	all, err := loadSuite(t.Suite)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		if w.name() != t.Workload {
			continue
		}
		for _, who := range schedulersIn(t.Binaries) {
			if who.name == t.Scheduler {
				return runWorkload(ctx, w, who, t, progress)
			}
		}
	}
	return nil, fmt.Errorf("there is no workload %s, or no scheduler %s", t.Workload, t.Scheduler)
}

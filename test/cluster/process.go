// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Process is a program that was started, with its output in a file.
type Process struct {
	name    string
	command *exec.Cmd
	log     string        // path
	ended   chan struct{} // closed when the process is gone
}

// Usage is what a process has used of the machine since its start.
type Usage struct {
	CPU     time.Duration // user and system
	PeakRSS int64         // bytes; 0 where there is no /proc
}

// StartProcess starts a program. The environment variable LOGS names a folder that keeps the output. When the test
// ends, it is stopped, and the end of its output printed if the test failed.
func StartProcess(tb testing.TB, name, binary string, arguments ...string) *Process {
	tb.Helper()
	folder := os.Getenv("LOGS")
	if folder == "" {
		folder = tb.TempDir()
	}
	p := &Process{name: name, log: filepath.Join(folder, name+".log"), ended: make(chan struct{})}
	output, err := os.Create(p.log)
	if err != nil {
		tb.Fatal(err)
	}
	defer output.Close()
	p.command = exec.Command(binary, arguments...)
	p.command.Stdout, p.command.Stderr = output, output
	p.command.SysProcAttr = diesWithParent()
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // its end is the end of the process
		defer close(p.ended)
		err := p.command.Start()
		started <- err
		if err == nil {
			_ = p.command.Wait()
		}
	}()
	if err := <-started; err != nil {
		tb.Fatalf("starting %s: %v", name, err)
	}
	tb.Cleanup(func() {
		p.Stop()
		if tb.Failed() {
			tb.Logf("the end of the output of %s:\n%s", name, lastLines(p.Log(), 60))
		}
	})
	return p
}

// Stop asks the process to end, waits, and kills it if it has not ended after ten seconds.
func (p *Process) Stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		p.Kill()
	}
}

// Kill ends the process at once, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	<-p.ended
}

// Ended reports whether the process is gone.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Log returns what the process has written so far.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Usage returns what the process, which must be running, has used so far. The peak of the memory is read here because
// what wait(2) reports counts the memory of the process that started this one.
func (p *Process) Usage() (Usage, error) {
	folder := fmt.Sprintf("/proc/%d/", p.command.Process.Pid)
	status, err := os.ReadFile(folder + "status")
	if err != nil {
		return Usage{}, fmt.Errorf("reading the memory of %s: %w", p.name, err)
	}
	stat, err := os.ReadFile(folder + "stat")
	if err != nil {
		return Usage{}, fmt.Errorf("reading the CPU time of %s: %w", p.name, err)
	}
	var usage Usage
	for line := range strings.Lines(string(status)) {
		var kibibytes int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kibibytes); n == 1 {
			usage.PeakRSS = kibibytes << 10
		}
	}
	// The fields after the command, which stands in parentheses: state is the first, utime and stime the 12th and 13th.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, field := range fields[11:13] {
		var ticks int64
		if _, err := fmt.Sscan(field, &ticks); err != nil {
			return Usage{}, fmt.Errorf("reading the CPU time of %s: %w", p.name, err)
		}
		usage.CPU += time.Duration(ticks) * time.Second / 100 // USER_HZ
	}
	return usage, nil
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

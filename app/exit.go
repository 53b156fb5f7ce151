// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

// ExitCode is what a process tells its caller.
type ExitCode int

// The exit codes.
const (
	// ExitDone means that the command did its work and every check passed.
	ExitDone ExitCode = 0
	// ExitCheckFailed means that the command did its work, and what it checked is not so.
	ExitCheckFailed ExitCode = 1
	// ExitUsage means that the command could not do its work: it was used wrongly, or its input cannot be read or is
	// not valid.
	ExitUsage ExitCode = 2
)

// CheckFailedError is the error of a command that did its work and found that something is not as it should be.
type CheckFailedError struct {
	// Message is printed; empty if the output of the command says it already.
	Message string
}

// Error implements error.
func (e *CheckFailedError) Error() string {
	if e.Message == "" {
		return "the check failed"
	}
	return e.Message
}

// CodeOf returns the exit code for the error of a command.
func CodeOf(err error) ExitCode {
	var failed *CheckFailedError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &failed):
		return ExitCheckFailed
	default:
		return ExitUsage
	}
}

// Run executes a command with the arguments of the process, prints its error and returns its [ExitCode] for os.Exit.
// It adds the flags of the log (-v, --vmodule) and cancels the command's context on SIGINT and SIGTERM. A command that has
// not returned a moment later, because a library that it calls looks at no context, is left to itself: Run returns, and
// the process ends with it. A scheduler that runs may take as long as it needs; a second signal ends its process.
func Run(command *cobra.Command) int {
	parent := command.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	patience := &patience{}
	command.SetContext(context.WithValue(ctx, patienceKey{}, patience))
	err := patience.run(ctx, func() error { return cli.RunNoErrOutput(command) })
	if err != nil {
		printError(command.ErrOrStderr(), err)
	}
	return int(CodeOf(err))
}

// grace is how long a command may take to return once it is interrupted.
const grace = time.Second

// patience is whether a command that is interrupted is waited for.
type patience struct {
	endless atomic.Bool
}

type patienceKey struct{}

// haveAll has [Run] wait for the command of a context, however long it takes to return.
func haveAll(ctx context.Context) {
	if p, ok := ctx.Value(patienceKey{}).(*patience); ok {
		p.endless.Store(true)
	}
}

// run runs a command, but returns a moment after the context ended if the command does not.
func (p *patience) run(ctx context.Context, command func() error) error {
	returned := make(chan error, 1)
	go func() { returned <- command() }()
	select {
	case err := <-returned:
		return err
	case <-ctx.Done():
	}
	expired := time.NewTimer(grace)
	defer expired.Stop()
	select {
	case err := <-returned:
		return err
	case <-expired.C:
	}
	if p.endless.Load() {
		return <-returned
	}
	return errors.New("interrupted")
}

// printError writes a line for each error. Errors of files begin with the position, as editors understand it.
func printError(w io.Writer, err error) {
	var failed *CheckFailedError
	if errors.As(err, &failed) {
		if failed.Message != "" {
			fmt.Fprintln(w, failed.Message)
		}
		return
	}
	for _, problem := range errorsOf(err) {
		var positioned *manifest.Error
		if errors.As(problem, &positioned) {
			fmt.Fprintln(w, problem)
		} else {
			fmt.Fprintln(w, "Error:", problem)
		}
	}
}

// joinErrors joins errors, each one once; nil if there are none.
func joinErrors(errs []error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	var list manifest.ErrorList
	list.Add(errorsOf(err)...)
	return list.Err()
}

// errorsOf takes joined errors apart.
func errorsOf(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var errs []error
	for _, problem := range joined.Unwrap() {
		errs = append(errs, errorsOf(problem)...)
	}
	return errs
}

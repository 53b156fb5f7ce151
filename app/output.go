// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/internal/render"
)

// form is how a command writes its result.
type form string

const (
	textForm form = "text"
	jsonForm form = "json"
	yamlForm form = "yaml"
	htmlForm form = "html"
	// configForm is a KubeSchedulerConfiguration file.
	configForm form = "config"
)

// formFlag is the flag --output of a command.
type formFlag struct {
	form    form
	allowed []form
}

// addOutputFlag gives a command the flag --output with text, JSON, YAML and further forms.
func addOutputFlag(command *cobra.Command, further ...form) *formFlag {
	flag := &formFlag{form: textForm, allowed: append([]form{textForm, jsonForm, yamlForm}, further...)}
	command.Flags().VarP(flag, "output", "o", "output format: "+flag.names(" or "))
	complete(command, "output", func() []string { return strings.Split(flag.names(","), ",") })
	return flag
}

func (f *formFlag) names(last string) string {
	var names []string
	for _, allowed := range f.allowed {
		names = append(names, string(allowed))
	}
	end := len(names) - 1
	if last == "," {
		return strings.Join(names, last)
	}
	return strings.Join(names[:end], ", ") + last + names[end]
}

// String implements pflag.Value.
func (f *formFlag) String() string { return string(f.form) }

// Type implements pflag.Value; it stands for the value in help texts.
func (f *formFlag) Type() string { return "format" }

// Set implements pflag.Value.
func (f *formFlag) Set(value string) error {
	if !slices.Contains(f.allowed, form(value)) {
		return fmt.Errorf("the formats are %s", f.names(" and "))
	}
	f.form = form(value)
	return nil
}

// writeView writes a value to the output of a command, in the form that the flag asks for; text writes it for people.
func writeView[T any](command *cobra.Command, f *formFlag, view T, text func(io.Writer, T, render.Style) error) error {
	out := command.OutOrStdout()
	switch f.form {
	case jsonForm:
		return render.JSON(out, view)
	case yamlForm:
		return render.YAML(out, view)
	default:
		return text(out, view, styleFor(out))
	}
}

// isTerminal reports whether what w writes to is a terminal.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// styleFor returns how text looks on what w writes to. On a terminal it is in colour, unless the environment asks for no
// colours (see no-color.org), and folded to the terminal's width; elsewhere to COLUMNS, if the environment sets it.
func styleFor(w io.Writer) render.Style {
	if !isTerminal(w) {
		columns, err := strconv.Atoi(os.Getenv("COLUMNS"))
		if err != nil || columns < 0 {
			columns = 0
		}
		return render.Style{Width: columns, Verbose: klog.V(1).Enabled()}
	}
	width, _, err := term.GetSize(int(w.(*os.File).Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return render.Style{Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", Width: width, Verbose: klog.V(1).Enabled()}
}

// complete offers values for a flag to the shell.
func complete(command *cobra.Command, flag string, values func() []string) {
	// An error would mean that the flag does not exist.
	_ = command.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/internal/render"
)

const (
	modulePath = "github.com/rouse-scheduler/rouse"
	// kubernetesMinor is the release whose libraries go.mod names.
	kubernetesMinor = "1.37"
)

func (p *program) versionCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the Kubernetes version that it implements",
		Args:  between(0, 0, ""),
	}
	output := addOutputFlag(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		info, _ := debug.ReadBuildInfo()
		return writeView(command, output, versionOf(info), writeVersion)
	}
	return command
}

// version is what a binary was built from.
type version struct {
	// Rouse is the version of the module; "(devel)" if it was built from a working copy.
	Rouse string `json:"rouse"`
	// Revision is the commit of the working copy, if it is known.
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	// Kubernetes is the minor version whose scheduling framework this is.
	Kubernetes string `json:"kubernetes"`
}

// versionOf reads the build information, which may be nil.
func versionOf(info *debug.BuildInfo) *version {
	v := &version{Rouse: "(devel)", Kubernetes: kubernetesMinor}
	if info == nil {
		return v
	}
	v.Go = strings.TrimPrefix(info.GoVersion, "go")
	if info.Main.Path == modulePath {
		v.Rouse = cmp.Or(info.Main.Version, v.Rouse)
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				v.Revision = setting.Value
			}
		}
	}
	for _, module := range info.Deps {
		if module.Path == modulePath { // in a binary with plugins of its own
			v.Rouse = module.Version
		}
	}
	return v
}

// writeVersion writes a version for people.
func writeVersion(w io.Writer, v *version, _ render.Style) error {
	revision := ""
	if v.Revision != "" {
		revision = " (" + v.Revision + ")"
	}
	_, err := fmt.Fprintf(w, "rouse %s%s\nGo %s\nKubernetes %s\n", v.Rouse, revision, v.Go, v.Kubernetes)
	return err
}

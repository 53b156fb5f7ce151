// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

const configurationKind = "KubeSchedulerConfiguration"

// scenarioKind is the kind of a timeline.
const scenarioKind = "Scenario"

// splitInput takes the scheduler configurations out of the files and folders that a simulation is to read, so that a
// folder can hold everything that belongs together. Files that cannot be read are left to the simulation, which says
// why.
func splitInput(paths []string) (configs, rest []string) {
	for _, path := range expandFolders(paths) {
		if isConfiguration(path) {
			configs = append(configs, path)
		} else {
			rest = append(rest, path)
		}
	}
	if len(configs) == 0 {
		return nil, paths
	}
	return configs, rest
}

// chooseConfiguration returns the configuration to use: the one that the user named, or the only one in the input, or
// none.
func chooseConfiguration(command *cobra.Command, named string, found []string) (string, error) {
	switch {
	case named != "" || len(found) == 0:
		return named, nil
	case len(found) > 1:
		return "", fmt.Errorf("%s and %s are both a %s: choose one with --config", found[0], found[1], configurationKind)
	}
	fmt.Fprintf(command.ErrOrStderr(), "Using the configuration %s\n", found[0])
	return found[0], nil
}

// inputExtensions are the ends of the names of files that are read in folders.
func inputExtensions() []string { return []string{".yaml", ".yml", ".json"} }

// expandFolders replaces folders by the files in them that [simulate.Load] would read.
func expandFolders(paths []string) []string {
	var files []string
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			files = append(files, path)
			continue
		}
		// Errors are for the simulation to report, which reads the folder again if no configuration is found.
		_ = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case file != path && strings.HasPrefix(entry.Name(), "."):
				if entry.IsDir() {
					return fs.SkipDir
				}
			case !entry.IsDir() && slices.Contains(inputExtensions(), filepath.Ext(file)):
				files = append(files, file)
			}
			return nil
		})
	}
	return files
}

// isConfiguration reports whether the first document of a file is a scheduler configuration, of whatever version.
func isConfiguration(path string) bool {
	text, err := manifest.ReadFile(path, manifest.MaxFileSize)
	if err != nil || !bytes.Contains(text, []byte(configurationKind)) {
		return false
	}
	documents, err := manifest.Split(path, text)
	if err != nil {
		return false
	}
	header, err := documents[0].Header()
	return err == nil && header.Kind == configurationKind
}

// hasScenario reports whether a file has a document of kind Scenario. One that cannot be read may have one, so that whoever reads it
// says what is wrong.
func hasScenario(path string) bool {
	text, err := manifest.ReadFile(path, manifest.MaxFileSize)
	if err != nil {
		return true
	}
	if !bytes.Contains(text, []byte(scenarioKind)) {
		return false
	}
	documents, err := manifest.Split(path, text)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(documents, func(document *manifest.Document) bool {
		header, err := document.Header()
		return err == nil && header.Kind == scenarioKind
	})
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scaffold writes the module of a new plugin.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

// The versions of the modules that a new one requires.
const (
	GoVersion         = "1.26.0"
	KubernetesVersion = "v0.37.1"
	KlogVersion       = "v2.140.0"
	GoCmpVersion      = "v0.7.0"
)

//go:embed template
var templates embed.FS

// Module is what a new module is like.
type Module struct {
	// Name is the name of the plugin, as profiles have it: a Go name that begins with an upper-case letter.
	Name string
	// Path is the path of the module.
	Path string
	// Version is that of Rouse which the module requires.
	Version string
	// Replace is the folder of a clone of Rouse to build against, as it is written in go.mod; empty for the published module.
	Replace string
}

// Package is the name of the package that has the plugin, and of its folder.
func (m *Module) Package() string { return strings.ToLower(m.Name) }

// Versions of what go.mod requires, for its template.
func (m *Module) Versions() map[string]string {
	return map[string]string{"go": GoVersion, "kubernetes": KubernetesVersion, "klog": KlogVersion, "cmp": GoCmpVersion}
}

var (
	nameForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	pathForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)
)

// check says what is wrong with the names.
func (m *Module) check() error {
	switch {
	case !nameForm.MatchString(m.Name):
		return fmt.Errorf("%q is no name for a plugin: it must begin with an upper-case letter and have only letters and digits, as in NodeAffinity", m.Name)
	case token.IsKeyword(m.Package()):
		return fmt.Errorf("%q is no name for a plugin: its package would be called %s, which is a keyword of Go", m.Name, m.Package())
	case slices.Contains([]string{"main", "vendor", "testdata", "internal"}, m.Package()):
		return fmt.Errorf("%q is no name for a plugin: its package would be called %s, which means something else to Go", m.Name, m.Package())
	case !pathForm.MatchString(m.Path):
		return fmt.Errorf("%q is no path for a module; write one such as example.com/%s", m.Path, m.Package())
	}
	return nil
}

// Write writes the module into a folder, which is made if it does not exist, and returns the files. It changes no file that exists: if
// there is one that it would write, it writes nothing and returns an error that names it.
func Write(folder string, m *Module) ([]string, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	contents, err := render(m)
	if err != nil {
		return nil, err
	}
	var names []string
	var existing []error
	for name := range contents {
		names = append(names, name)
		if _, err := os.Lstat(filepath.Join(folder, name)); !errors.Is(err, fs.ErrNotExist) {
			existing = append(existing, fmt.Errorf("%s exists already; choose another folder with --dir", filepath.Join(folder, name)))
		}
	}
	slices.Sort(names)
	if len(existing) > 0 {
		slices.SortFunc(existing, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		return nil, errors.Join(existing...)
	}
	for _, name := range names {
		if err := create(filepath.Join(folder, name), contents[name]); err != nil {
			return nil, fmt.Errorf("writing the module of plugin %s: %w", m.Name, err)
		}
	}
	return names, nil
}

// create writes a file that must not exist.
func create(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// render returns the files of a module by their paths in it.
func render(m *Module) (map[string][]byte, error) {
	contents := make(map[string][]byte)
	err := fs.WalkDir(templates, "template", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := templates.ReadFile(path)
		if err != nil {
			return err
		}
		parsed, err := template.New(path).Delims("<<", ">>").Option("missingkey=error").Parse(string(text))
		if err != nil {
			return err
		}
		var content bytes.Buffer
		if err := parsed.Execute(&content, m); err != nil {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(path, "template/"), ".tmpl")
		name = strings.Replace(name, "PACKAGE", m.Package(), 1)
		name = strings.Replace(name, "DOT", ".", 1)
		contents[filepath.FromSlash(name)] = content.Bytes()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("filling in the templates of a plugin: %w", err)
	}
	return contents, nil
}

// CheckClone says why a folder is not a clone of a module; nil if it is one.
func CheckClone(folder, module string) error {
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return fmt.Errorf("%s is no clone of %s: %w", folder, module, err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	if strings.TrimSpace(first) != "module "+module {
		return fmt.Errorf("%s is no clone of %s: its go.mod begins with %q", folder, module, first)
	}
	return nil
}

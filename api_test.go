// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package rouse_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateAPI = flag.Bool("update", false, "write testdata/api.txt instead of comparing it")

const apiFile = "testdata/api.txt"

// TestExportedAPI compares what the public packages export with the checked-in list, so that a change to it is seen in
// review. `make api` writes the list.
func TestExportedAPI(t *testing.T) {
	var list bytes.Buffer
	for _, folder := range publicPackages(t) {
		writeAPI(t, &list, folder)
	}
	if *updateAPI {
		if err := os.WriteFile(apiFile, list.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(apiFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(recorded), "\n"), strings.Split(list.String(), "\n")); diff != "" {
		t.Errorf("the exported API differs from %s; run `make api` if that is intended, and add it to CHANGELOG.md (-recorded +exported):\n%s", apiFile, diff)
	}
}

// publicPackages returns the folders of the packages that other modules can import, sorted.
func publicPackages(t *testing.T) []string {
	t.Helper()
	var folders []string
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				folders = append(folders, path.Dir(name))
			}
			return nil
		case slices.Contains(outside(), name), slices.Contains([]string{"internal", "cmd", "testdata", ".git"}, entry.Name()):
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// writeAPI writes a line for everything that a package exports: constants, variables, functions, types with their fields
// and interface methods, and methods.
func writeAPI(t *testing.T, list *bytes.Buffer, folder string) {
	t.Helper()
	fset := token.NewFileSet()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(fset, path.Join(folder, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	pkg, err := doc.NewFromFiles(fset, files, folder)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	add := func(node ast.Node) {
		for _, line := range strings.Split(declaration(t, fset, node), "\n") {
			lines = append(lines, fmt.Sprintf("%s: %s", folder, line))
		}
	}
	addValues := func(values []*doc.Value) {
		for _, value := range values {
			add(value.Decl)
		}
	}
	addFuncs := func(funcs []*doc.Func) {
		for _, f := range funcs {
			f.Decl.Body = nil
			add(f.Decl)
		}
	}
	addValues(pkg.Consts)
	addValues(pkg.Vars)
	addFuncs(pkg.Funcs)
	for _, exported := range pkg.Types {
		add(exported.Decl)
		addValues(exported.Consts)
		addValues(exported.Vars)
		addFuncs(exported.Funcs)
		addFuncs(exported.Methods)
	}
	for _, line := range lines {
		fmt.Fprintln(list, line)
	}
}

// declaration prints a declaration without its comments. What is not exported is left out by go/doc already.
func declaration(t *testing.T, fset *token.FileSet, node ast.Node) string {
	t.Helper()
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			n.Doc = nil
		case *ast.GenDecl:
			n.Doc = nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
	var text bytes.Buffer
	if err := (&printer.Config{Mode: printer.RawFormat}).Fprint(&text, fset, node); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(text.String()) {
		if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "//") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(lines, "\n")
}

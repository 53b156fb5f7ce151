// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

// Input is what a simulation begins with and what then happens to it. Unless [LoadOptions] say Once, it is not changed by
// simulations, so that one input can be replayed any number of times, also concurrently.
type Input struct {
	// Scenarios run one after the other.
	scenarios []*timeline
	// Warnings name what was read but means nothing, such as fields that a kind of object does not have, and what objects
	// name that the input lacks.
	Warnings []string

	objects []*loadedObject
	// once tells that a replay takes the objects over, taken that one has.
	once, taken bool
}

// Objects returns copies of the objects of the manifests, with the defaults of [SetDefaults], in the order in which they would be
// created. Those that scenarios create are not among them.
func (i *Input) Objects() []apiruntime.Object {
	objects := make([]apiruntime.Object, len(i.objects))
	for at, loaded := range i.objects {
		objects[at] = loaded.object.DeepCopyObject()
	}
	return objects
}

// Expectations returns how many checks of pods the scenarios have.
func (i *Input) Expectations() int {
	count := 0
	for _, scenario := range i.scenarios {
		for _, step := range scenario.Steps {
			if step.Expect != nil {
				count += len(step.Expect.Pods)
			}
		}
	}
	return count
}

// CustomResources returns the objects of custom kinds and the definitions of these, for [Options.CustomResources]. They must
// not be changed.
func (i *Input) CustomResources() []apiruntime.Object {
	var found []apiruntime.Object
	for _, o := range i.custom() {
		found = append(found, o)
	}
	return found
}

// custom returns the same, those that steps create included.
func (i *Input) custom() []object {
	var found []object
	add := func(o object) {
		if o != nil && !scheme.Scheme.Recognizes(kindOf(o)) {
			found = append(found, o)
		}
	}
	for _, loaded := range i.objects {
		if loaded != nil {
			add(loaded.object)
		}
	}
	for _, scenario := range i.scenarios {
		for _, step := range scenario.Steps {
			add(step.object)
		}
	}
	return found
}

// loadedObject is an object of a manifest.
type loadedObject struct {
	object object
	source source
}

// source is where something was read: a document, and the field of it.
type source struct {
	document *manifest.Document
	path     string
}

func (s source) field(name string) source {
	if s.path != "" && !strings.HasPrefix(name, "[") {
		name = "." + name
	}
	return source{s.document, s.path + name}
}

// position returns file:line:column.
func (s source) position() string {
	at := s.document.Position(s.path)
	return fmt.Sprintf("%s:%d:%d", s.document.File, at.Line, at.Column)
}

func (s source) errorf(format string, args ...any) error {
	return s.document.Errorf(s.path, format, args...)
}

// InputError is what [Load] and a replay return when the input cannot be used: it is unreadable, or asks for something
// impossible. The text has a line for each error, with file, line and column.
type InputError struct {
	// Err has every error; a manifest.ErrorList where there can be several.
	Err error
}

// Error implements error.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the errors.
func (e *InputError) Unwrap() error { return e.Err }

// LoadOptions change what [Load] reads. The zero value is the default.
type LoadOptions struct {
	// Stdin is read for the path "-"; nil makes that path an error.
	Stdin io.Reader
	// Once has the first replay of the input take its objects over, which needs less memory. The input cannot be replayed
	// again.
	Once bool
}

// Load reads files, and folders with everything in them that ends in .yaml, .yml or .json. Folders are read in the
// order of the names; files and folders whose names begin with a dot are left out.
//
// Every document is an object, a list of objects as kubectl get prints it, or a Scenario. Fields that an object's
// kind does not have, and kinds that are not known, are no errors, because clusters are often newer than this package.
// Every error is an [*InputError] and has all errors of all files.
func Load(paths []string, options LoadOptions) (*Input, error) {
	if len(paths) == 0 {
		return nil, &InputError{errors.New("nothing to simulate: name at least one file or folder of manifests")}
	}
	l := newLoader()
	l.input.once = options.Once
	for _, path := range paths {
		l.readPath(path, options)
	}
	return l.finish()
}

// Parse reads one text as [Load] reads a file. The name stands in for the file's in messages.
func Parse(name string, data []byte) (*Input, error) {
	l := newLoader()
	l.split(name, data)
	return l.finish()
}

// loader collects the documents of all files, and all errors.
type loader struct {
	input Input
	kinds *kindTable
	errs  manifest.ErrorList
	// defined has where each object was first read.
	defined map[string]source
	// shared has the resource lists that were read, so that equal ones are kept once.
	shared sharedResources
	// warned finds the warnings by what they are about; indices is what does not matter in a field for that.
	warnings []*warning
	warned   map[string]*warning
	indices  *regexp.Regexp
}

func newLoader() *loader {
	return &loader{
		kinds:   newKindTable(),
		defined: make(map[string]source),
		shared:  make(sharedResources),
		warned:  make(map[string]*warning),
		indices: regexp.MustCompile(`^.*steps\[\d+\]\.(create|patch|delete)\.?|\[\d+\]`),
	}
}

func (l *loader) finish() (*Input, error) {
	full := l.full()
	if err := l.errs.Err(); err != nil {
		if full {
			err = manifest.ErrorList{err, fmt.Errorf("too many errors; the rest was not read")}
		}
		return nil, &InputError{err}
	}
	slices.SortStableFunc(l.input.objects, func(a, b *loadedObject) int {
		return creationRank(kindOf(a.object)) - creationRank(kindOf(b.object))
	})
	l.warnOfMissing()
	for _, warning := range l.warnings {
		l.input.Warnings = append(l.input.Warnings, warning.String())
	}
	input := l.input // on its own, not with everything that the loader had to know
	return &input, nil
}

func (l *loader) readPath(path string, options LoadOptions) {
	if path == "-" {
		l.readStdin(options.Stdin)
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		l.errs.Add(err)
	case info.IsDir():
		l.readFolder(path)
	default:
		l.readFile(path)
	}
}

func (l *loader) readStdin(stdin io.Reader) {
	if stdin == nil {
		l.errs.Add(errors.New("-: there is no standard input to read from"))
		return
	}
	const name = "standard input"
	data, err := manifest.Read(name, stdin, manifest.MaxFileSize)
	if err != nil {
		l.errs.Add(err)
		return
	}
	l.split(name, data)
}

func (l *loader) readFolder(folder string) {
	found := false
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != folder && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)):
			found = true
			l.readFile(path)
		}
		return nil
	})
	if err != nil {
		l.errs.Add(err)
	} else if !found {
		l.errs.Add(fmt.Errorf("%s: the folder has no files that end in .yaml, .yml or .json", folder))
	}
}

func (l *loader) readFile(path string) {
	documents, err := manifest.Load(path)
	l.readDocuments(documents, err)
}

func (l *loader) split(name string, data []byte) {
	documents, err := manifest.Split(name, data)
	l.readDocuments(documents, err)
}

func (l *loader) readDocuments(documents []*manifest.Document, err error) {
	l.errs.Add(err)
	for _, document := range documents {
		if l.full() {
			return
		}
		l.readDocument(document)
	}
}

// maxErrors is how many errors of an input are reported at most, or a few more.
const maxErrors = 1000

// full reports whether there are as many errors as a user would read, so that the rest of the input is not looked at.
func (l *loader) full() bool { return len(l.errs) >= maxErrors }

// readDocument takes an object, a list of objects or a scenario.
func (l *loader) readDocument(document *manifest.Document) {
	header, err := document.Header()
	if err != nil {
		l.errs.Add(err)
		return
	}
	data, err := document.JSON()
	switch {
	case err != nil:
		l.errs.Add(err)
	case isScenario(header):
		l.readScenario(document, header)
	case isList(header):
		l.readList(source{document: document}, data, header)
	default:
		l.readObject(source{document: document}, data, header)
	}
}

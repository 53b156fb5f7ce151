// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"
	"path"
	"reflect"
	goruntime "runtime"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
)

// identity is who a plugin is.
type identity struct {
	name string // as the plugin says itself; statuses and skip sets carry this name
	// folder is the import path of the package that the plugin's type is of.
	folder string
	// outOfTree is set if the plugin is none of this module. Only out-of-tree plugins are watched in calls that are so many, or so
	// cheap, that watching them would be noticed.
	outOfTree bool
}

func identityOf(plugin fwk.Plugin) identity {
	module, folder := strings.TrimSuffix(reflect.TypeFor[Framework]().PkgPath(), "runtime"), folderOfType(plugin)
	return identity{name: plugin.Name(), folder: folder, outOfTree: !strings.HasPrefix(folder, module+"plugins/")}
}

// folderOfType returns the import path of the package that the type of a value, or of what it points to, is of.
func folderOfType(value any) string {
	kind := reflect.TypeOf(value)
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	return kind.PkgPath()
}

// maxFrames is how deep the stack of a panic is searched for the plugin.
const maxFrames = 64

// callers returns the stack of a panic. It must be called by the deferred function that recovered it.
func callers() []uintptr {
	pcs := make([]uintptr, maxFrames)
	return pcs[:goruntime.Callers(2, pcs)]
}

// sourceOf returns the file, with its folder, and the line of a stack in which the plugin panicked: the innermost one of its
// own package, otherwise of any below the panic. It is empty if there is none.
func (p *identity) sourceOf(stack []uintptr) string {
	frames := goruntime.CallersFrames(stack)
	innermost, panicking := "", false
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			innermost, panicking = "", true
		case !panicking, strings.HasPrefix(frame.Function, "runtime."):
		case p.owns(frame.Function):
			return lineOf(frame)
		case innermost == "":
			innermost = lineOf(frame)
		}
		if !more {
			return innermost
		}
	}
}

// lineIn returns the innermost line of the plugin's package in a stack; empty if there is none.
func (p *identity) lineIn(stack []uintptr) string {
	frames := goruntime.CallersFrames(stack)
	for {
		frame, more := frames.Next()
		if p.owns(frame.Function) {
			return lineOf(frame)
		}
		if !more {
			return ""
		}
	}
}

// owns reports whether a function, as it is called in stacks, is of the plugin's package.
func (p *identity) owns(function string) bool {
	folder, last := path.Split(p.folder)
	return p.folder != "" && strings.HasPrefix(function, folder+strings.ReplaceAll(last, ".", "%2e")+".")
}

func lineOf(frame goruntime.Frame) string {
	folder, file := path.Split(frame.File)
	return fmt.Sprintf("%s:%d", path.Join(path.Base(folder), file), frame.Line)
}

// folderOf returns the import path of the package that a function is of, as it is in stacks.
func folderOf(factory PluginFactory) string {
	function := goruntime.FuncForPC(reflect.ValueOf(factory).Pointer())
	if function == nil {
		return ""
	}
	folder, name := path.Split(function.Name())
	name, _, _ = strings.Cut(name, ".")
	return folder + strings.ReplaceAll(name, "%2e", ".")
}

// isNil reports whether an interface holds a nil pointer.
func isNil(plugin fwk.Plugin) bool {
	value := reflect.ValueOf(plugin)
	return value.Kind() == reflect.Pointer && value.IsNil()
}

// OutOfTreePlugins returns the names of the plugins that are not of this module, in no particular order.
func (f *Framework) OutOfTreePlugins() []string {
	var names []string
	for name, who := range f.identities {
		if who.outOfTree {
			names = append(names, name)
		}
	}
	return names
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"bytes"
	"fmt"
	"reflect"
	gort "runtime"
	"slices"
	"strings"

	"github.com/rouse-scheduler/rouse/runtime"
)

const (
	maxStacks   = 8 << 20  // bytes of all stacks that are read
	maxReported = 16 << 10 // bytes of stacks that are reported
)

// callsUnderWay finds out from the stacks of all goroutines which plugins a scheduling cycle is in, and returns these
// stacks. Keeping track of every call would cost something all the time; this costs a few milliseconds when it is asked.
func callsUnderWay(profile *runtime.Framework) (calls []string, stacks string) {
	buffer := make([]byte, 64<<10)
	n := gort.Stack(buffer, true)
	for n == len(buffer) && n < maxStacks {
		buffer = make([]byte, 2*n)
		n = gort.Stack(buffer, true)
	}
	names := pluginTypes(profile)
	var report strings.Builder
	for stack := range bytes.SplitSeq(buffer[:n], []byte("\n\n")) {
		function, ofCycle := pluginCall(string(stack))
		if !ofCycle {
			continue
		}
		if report.Len()+len(stack) < maxReported {
			report.Write(stack)
			report.WriteString("\n\n")
		}
		if function == "" {
			continue
		}
		call := function
		if name := names[function[:strings.LastIndexByte(function, '.')]]; name != "" {
			call = fmt.Sprintf("plugin %q (%s)", name, function)
		}
		if !slices.Contains(calls, call) {
			calls = append(calls, call)
		}
	}
	slices.Sort(calls)
	return calls, report.String()
}

// pluginCall returns the function of a plugin that a goroutine is in, without its arguments, if it is in any, and whether
// the goroutine belongs to a scheduling cycle at all.
func pluginCall(stack string) (function string, ofCycle bool) {
	callers := reflect.TypeFor[runtime.Framework]().PkgPath() + "."
	cycle := reflect.TypeFor[Scheduler]().PkgPath() + ".(*Scheduler).schedulingCycle("
	above, bindings := "", false
	for line := range strings.Lines(stack) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "goroutine "):
			continue
		case strings.HasPrefix(line, "created by "+callers):
			ofCycle = true // a worker that goes through the nodes
		case strings.HasPrefix(line, cycle):
			ofCycle = true
		}
		if function == "" && strings.HasPrefix(line, callers) && isOfPlugin(above) {
			function = above[:strings.LastIndexByte(above, '(')]
			method := function[strings.LastIndexByte(function, '.')+1:]
			bindings = slices.Contains([]string{"PreBind", "PreBindPreFlight", "Bind", "PostBind"}, method)
		}
		above = line
	}
	return function, ofCycle && !bindings
}

// isOfPlugin tells whether a line of a stack is a call that the plugin runtime makes for a plugin rather than for itself.
func isOfPlugin(line string) bool {
	if line == "" || !strings.Contains(line, ".") || !strings.HasSuffix(line, ")") {
		return false
	}
	for _, own := range []string{"sync.", "runtime.", "internal/", "context.", "reflect.", "slices.", "sort.", "panic("} {
		if strings.HasPrefix(line, own) {
			return false
		}
	}
	return !strings.HasPrefix(line, reflect.TypeFor[runtime.Framework]().PkgPath()+".")
}

// pluginTypes returns the names of the plugins of a profile by their types, as stacks show them.
func pluginTypes(profile *runtime.Framework) map[string]string {
	names := map[string]string{}
	if profile.Resolved() == nil {
		return names
	}
	for _, point := range profile.Resolved().Points {
		for _, resolved := range point {
			plugin := profile.Plugin(resolved.Name)
			if plugin == nil {
				continue
			}
			kind, format := reflect.TypeOf(plugin), "%s.%s"
			if kind.Kind() == reflect.Pointer {
				kind, format = kind.Elem(), "%s.(*%s)"
			}
			path := kind.PkgPath()
			slash := strings.LastIndexByte(path, '/')
			path = path[:slash+1] + strings.ReplaceAll(path[slash+1:], ".", "%2e")
			names[fmt.Sprintf(format, path, kind.Name())] = resolved.Name
		}
	}
	return names
}

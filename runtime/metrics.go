// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"strconv"
	"time"

	fwk "k8s.io/kube-scheduler/framework"
)

// Method names what is called of a plugin, as the label extension_point of metrics does.
type Method string

// The methods of plugins that metrics tell apart.
const (
	MethodPreEnqueue       Method = "PreEnqueue"
	MethodPreFilter        Method = "PreFilter"
	MethodAddPod           Method = "PreFilterExtensionAddPod"
	MethodRemovePod        Method = "PreFilterExtensionRemovePod"
	MethodFilter           Method = "Filter"
	MethodPostFilter       Method = "PostFilter"
	MethodPreScore         Method = "PreScore"
	MethodScore            Method = "Score"
	MethodNormalizeScore   Method = "ScoreExtensionNormalize"
	MethodReserve          Method = "Reserve"
	MethodUnreserve        Method = "Unreserve"
	MethodPermit           Method = "Permit"
	MethodPreBindPreFlight Method = "PreBindPreFlight"
	MethodPreBind          Method = "PreBind"
	MethodBind             Method = "Bind"
	MethodPostBind         Method = "PostBind"
	MethodSign             Method = "Sign"
)

// The methods that are not measured, and only named when one of them panics.
const (
	MethodFactory          Method = "its factory"
	MethodEventsToRegister Method = "EventsToRegister"
	MethodQueueingHint     Method = "QueueingHintFn"
	MethodPreQueueingHint  Method = "PreQueueingHintFn"
	MethodHintClass        Method = "HintClass"
	MethodLess             Method = "Less"
	MethodClose            Method = "Close"
)

// Metrics is told what a framework does. Its methods are called concurrently and on hot paths; they should not block.
// The status labels are the names of status codes, such as Success.
type Metrics interface {
	// ExtensionPointDuration is called once for every run of an extension point, whatever the number of plugins;
	// for Filter the caller of the framework observes one run over all nodes, with [Framework.ObserveFilter].
	ExtensionPointDuration(point Method, status, profile string, duration time.Duration)
	// PluginDuration is called for every call of a plugin in the attempts whose state says that they are recorded.
	PluginDuration(plugin string, method Method, status string, duration time.Duration)
	// PluginEvaluations returns the counter of a plugin's calls that did not return Skip, for PreFilter, Filter,
	// PreScore and Score. It is asked once, when the framework is built.
	PluginEvaluations(plugin string, point Method, profile string) Counter
	// PermitWait is called when a pod stops waiting on permit.
	PermitWait(result string, duration time.Duration)
	// Goroutines is called with the number of goroutines that an operation starts, and, negative, ends.
	Goroutines(operation string, change int)
}

// VerdictCacheMetrics is an optional interface of [Metrics].
type VerdictCacheMetrics interface {
	// VerdictCacheBytes is called after every search with how many bytes are kept of what plugins said and counted, for all
	// profiles together.
	VerdictCacheBytes(bytes int)
}

// Counter is a counter of [Metrics]; Prometheus' is one.
type Counter interface {
	Inc()
}

// ObserveFilter reports the run of Filter over all nodes, which only the caller can measure. The code is Success
// unless the run was aborted by an error.
func (f *Framework) ObserveFilter(code fwk.Code, duration time.Duration) {
	if f.options.Metrics != nil {
		f.options.Metrics.ExtensionPointDuration(MethodFilter, codeName(code), f.ProfileName(), duration)
	}
}

// codeName is the name of a code, and its number if a plugin made it up.
func codeName(code fwk.Code) string {
	if code < fwk.Success || code > fwk.Pending {
		return strconv.Itoa(int(code))
	}
	return code.String()
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serving is what a scheduler process answers over HTTPS: probes, metrics, and views of itself.
//
//	/livez /readyz /healthz      the probes; a single check is at /readyz/<check>
//	/metrics                     metrics of the scheduler, its clients and the Go runtime
//	/metrics/resources           what pods request
//	/metrics/slis                results of the probes
//	/explain/pods/               why a pod waits, at /explain/pods/<namespace>/<name>
//	/configz                     the configuration
//	/statusz /flagz              the process and its flags
//	/debug/pprof /debug/flags/v  profiles, and the verbosity of the log
//
// [NewHandler] has the endpoints; [Secure] has requests authenticated and authorised before they get there.
package serving

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"
	"net/http/pprof"
	goruntime "runtime"

	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/apiserver/pkg/server/statusz"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/configz"
	"k8s.io/component-base/logs"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/prometheus/slis"
)

// Endpoints says what a handler answers. The zero value answers only probes, which pass, and metrics.
type Endpoints struct {
	// Component is the name of the process in its views of itself.
	Component string
	// Health, Live and Ready are the checks of /healthz, /livez and /readyz; without any, a check passes that is called
	// ping. Names must be unique.
	Health, Live, Ready []healthz.HealthChecker
	// Resources answers /metrics/resources; nil if nothing does.
	Resources http.Handler
	// Explainer answers /explain/pods/; nil if nothing does.
	Explainer Explainer
	// Flags are shown at /flagz; nil shows none.
	Flags *cliflag.NamedFlagSets
	// Version is shown at /statusz; nil leaves that out.
	Version compatibility.EffectiveVersion
	// Profiling serves /debug, and ContentionProfiling has it show where goroutines block.
	Profiling, ContentionProfiling bool
}

// NewHandler returns the endpoints, without authorization. The metrics and the configuration that it serves are those
// registered in the process, with component-base's legacyregistry and configz.
func NewHandler(endpoints Endpoints) http.Handler {
	paths := mux.NewPathRecorderMux(endpoints.Component)
	healthz.InstallHandler(paths, endpoints.Health...)
	healthz.InstallLivezHandler(paths, endpoints.Live...)
	healthz.InstallReadyzHandler(paths, endpoints.Ready...)
	paths.Handle("/metrics", legacyregistry.HandlerWithReset())
	slis.SLIMetricsWithReset{}.Install(paths)
	if endpoints.Resources != nil {
		paths.Handle("/metrics/resources", endpoints.Resources)
	}
	if endpoints.Explainer != nil {
		paths.HandlePrefix(ExplainPath, explain(endpoints.Explainer))
	}
	configz.InstallHandler(paths)
	if endpoints.Flags != nil {
		flagz.Install(paths, endpoints.Component, flagz.NamedFlagSetsReader{FlagSets: *endpoints.Flags})
	}
	if endpoints.Profiling {
		installProfiling(paths, endpoints.ContentionProfiling)
	}
	if endpoints.Version != nil { // last, as it lists the others
		statusz.Install(paths, endpoints.Component, statusz.NewRegistry(endpoints.Version, statusz.WithListedPaths(paths.ListedPaths())))
	}
	return paths
}

func installProfiling(paths *mux.PathRecorderMux, contention bool) {
	routes.Profiling{}.Install(paths)
	paths.UnlistedHandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	if contention {
		goruntime.SetBlockProfileRate(1)
	}
	routes.DebugFlags{}.Install(paths, "v", routes.StringFlagPutHandler(logs.GlogSetter))
}

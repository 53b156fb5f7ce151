// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"github.com/spf13/pflag"

	"github.com/rouse-scheduler/rouse/profiles"
)

// The deprecated flags.
const (
	kubeconfigFlag          = "kubeconfig"
	contentTypeFlag         = "kube-api-content-type"
	qpsFlag                 = "kube-api-qps"
	burstFlag               = "kube-api-burst"
	profilingFlag           = "profiling"
	contentionProfilingFlag = "contention-profiling"
	maxUnschedulableFlag    = "pod-max-in-unschedulable-pods-duration"
)

// deprecated are the settings that a configuration file has too.
type deprecated struct {
	kubeconfig          string
	contentType         string
	qps                 float32
	burst               int32
	profiling           bool
	contentionProfiling bool
}

func deprecatedDefaults(config *profiles.Configuration) deprecated {
	return deprecated{
		contentType:         config.ClientConnection.ContentType,
		qps:                 config.ClientConnection.QPS,
		burst:               config.ClientConnection.Burst,
		profiling:           config.EnableProfiling,
		contentionProfiling: config.EnableContentionProfiling,
	}
}

func (o *Options) addDeprecated(flags *pflag.FlagSet) {
	const instead = "; ignored with --config, which has clientConnection and enableProfiling"
	d := &o.deprecated
	flags.StringVar(&d.kubeconfig, kubeconfigFlag, "",
		"kubeconfig file; with --config it counts only if the file has no clientConnection.kubeconfig. Without either, the service account of the pod is used")
	flags.StringVar(&d.contentType, contentTypeFlag, d.contentType, "content type of requests to the API server"+instead)
	flags.Float32Var(&d.qps, qpsFlag, d.qps, "requests a second to the API server"+instead)
	flags.Int32Var(&d.burst, burstFlag, d.burst, "requests to the API server at once, beyond the rate"+instead)
	flags.BoolVar(&d.profiling, profilingFlag, d.profiling, "serve profiles under /debug/pprof"+instead)
	flags.BoolVar(&d.contentionProfiling, contentionProfilingFlag, d.contentionProfiling, "profile blocking too, if --profiling is on"+instead)
	flags.DurationVar(&o.MaxInUnschedulable, maxUnschedulableFlag, o.MaxInUnschedulable,
		"how long a pod waits for an event before it is tried again without one; also with --config")
}

// applyDeprecated changes a configuration that comes from no file as the given flags say.
func (o *Options) applyDeprecated(config *profiles.Configuration) {
	d, connection := o.deprecated, &config.ClientConnection
	apply := map[string]func(){
		kubeconfigFlag:          func() { connection.Kubeconfig = d.kubeconfig },
		contentTypeFlag:         func() { connection.ContentType = d.contentType },
		qpsFlag:                 func() { connection.QPS = d.qps },
		burstFlag:               func() { connection.Burst = d.burst },
		profilingFlag:           func() { config.EnableProfiling = d.profiling },
		contentionProfilingFlag: func() { config.EnableContentionProfiling = d.contentionProfiling },
	}
	for name, change := range apply {
		if o.given(deprecatedSection, name) {
			change()
		}
	}
}

// Ignored returns the flags that are given and have no effect together with --config.
func (o *Options) Ignored(config *profiles.Configuration) []string {
	if o.ConfigFile == "" {
		return nil
	}
	var names []string
	o.sections.FlagSets[deprecatedSection].VisitAll(func(flag *pflag.Flag) {
		effective := flag.Name == maxUnschedulableFlag ||
			flag.Name == kubeconfigFlag && config.ClientConnection.Kubeconfig == o.deprecated.kubeconfig
		if flag.Changed && !effective {
			names = append(names, "--"+flag.Name)
		}
	})
	return names
}

// given reports whether a flag is on the command line.
func (o *Options) given(section, name string) bool {
	return o.sections.FlagSets[section].Lookup(name).Changed
}

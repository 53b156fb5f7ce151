// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/plugins/defaultbinder"
	"github.com/rouse-scheduler/rouse/plugins/prioritysort"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

// Options are the plugin's arguments and the world that it finds. The zero value is no arguments and an empty cluster.
// The objects are not changed.
type Options struct {
	// Args are the arguments that the plugin's factory gets. Any value but an API object is written as JSON and handed
	// over as a configuration file would be, as an *apiruntime.Unknown; an API object, such as the typed arguments of an
	// in-tree plugin, is handed over as it is. Nil means no arguments.
	Args any
	// Nodes are the nodes of the cluster.
	Nodes []*v1.Node
	// Pods with a node are on it; those without one wait.
	Pods []*v1.Pod
	// Objects are all others that the plugin finds through its clients and its listers. CustomResourceDefinitions say what the
	// kinds that they define are like.
	Objects []apiruntime.Object
	// Scheme has the Go types of custom kinds that the plugin reads. Objects may be of these types, and the kinds are served
	// even if there is no object of them. It may be nil.
	Scheme *apiruntime.Scheme
	// Logger receives what the plugin and the scheduler log; the zero value drops it.
	Logger klog.Logger
}

// context returns the context that plugins get.
func (o *Options) context(t TB) context.Context { return klog.NewContext(t.Context(), o.Logger) }

// arguments returns what the factory gets.
func (o *Options) arguments() (apiruntime.Object, error) {
	switch args := o.Args.(type) {
	case nil:
		return nil, nil
	case apiruntime.Object:
		return args, nil
	}
	raw, err := json.Marshal(o.Args)
	if err != nil {
		return nil, fmt.Errorf("writing the arguments of the plugin as JSON: %w", err)
	}
	return &apiruntime.Unknown{Raw: raw, ContentType: apiruntime.ContentTypeJSON}, nil
}

// create puts the objects of the options into a cluster.
func (o *Options) create(cluster *simulate.Cluster) error {
	if err := cluster.Create(o.Objects...); err != nil {
		return err
	}
	for _, node := range o.Nodes {
		if err := cluster.Create(node); err != nil {
			return err
		}
	}
	for _, pod := range o.Pods {
		if err := cluster.Create(pod); err != nil {
			return err
		}
	}
	return nil
}

// oneProfile returns a configuration with one profile of the given plugins, all at every point that they implement.
func oneProfile(plugins ...string) *profiles.Configuration {
	configuration := profiles.Default()
	profile := profiles.Profile{SchedulerName: profiles.DefaultSchedulerName}
	for _, plugin := range plugins {
		profile.Plugins.MultiPoint.Enabled = append(profile.Plugins.MultiPoint.Enabled, configv1.Plugin{Name: plugin})
	}
	configuration.Profiles = []profiles.Profile{profile}
	return configuration
}

// neededRegistry has the two plugins without which there is no profile.
func neededRegistry() runtime.Registry {
	return runtime.Registry{prioritysort.Name: prioritysort.New, defaultbinder.Name: defaultbinder.New}
}

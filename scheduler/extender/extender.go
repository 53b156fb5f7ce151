// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/profiles"
)

var _ fwk.Extender = &Extender{}

// Extender is one extender. Make them with [New].
type Extender struct {
	settings configv1.Extender
	prefix   string // of the URL, without slashes at its end
	managed  sets.Set[string]
	client   *http.Client
	// maxAnswer is the longest answer that is read, in bytes.
	maxAnswer int64
	ctx       context.Context // of the calls
}

// New builds the extenders of a configuration, those that may be ignored last. It fails, naming the extender, when the
// certificates of one can't be read.
//
// Resources that the extenders manage and the scheduler is to ignore are written to the arguments of NodeResourcesFit in
// every profile of the configuration, so call it before the profiles are built; it is an error if these arguments are
// missing. Calling it again changes nothing.
func New(configuration *profiles.Configuration) ([]fwk.Extender, error) {
	settings, err := configuration.ApplyExtenders()
	if err != nil {
		return nil, err
	}
	extenders := make([]fwk.Extender, 0, len(settings))
	for _, one := range settings {
		transport, err := newTransport(&one)
		if err != nil {
			return nil, fmt.Errorf("couldn't build extenders: extender %s: %w", one.URLPrefix, err)
		}
		managed := sets.New[string]()
		for _, resource := range one.ManagedResources {
			managed.Insert(resource.Name)
		}
		extenders = append(extenders, &Extender{
			settings:  one,
			prefix:    strings.TrimRight(one.URLPrefix, "/"),
			managed:   managed,
			client:    &http.Client{Transport: transport, Timeout: one.HTTPTimeout.Duration},
			maxAnswer: maxAnswer,
			ctx:       context.Background(),
		})
	}
	return extenders, nil
}

// WithContext returns the same extender with calls that end, with an error, when the context does.
func (e *Extender) WithContext(ctx context.Context) fwk.Extender {
	bound := *e
	bound.ctx = ctx
	return &bound
}

// Name implements fwk.Extender: it is the URL prefix.
func (e *Extender) Name() string { return e.settings.URLPrefix }

// IsFilter implements fwk.Extender.
func (e *Extender) IsFilter() bool { return e.settings.FilterVerb != "" }

// IsPrioritizer implements fwk.Extender.
func (e *Extender) IsPrioritizer() bool { return e.settings.PrioritizeVerb != "" }

// IsBinder implements fwk.Extender.
func (e *Extender) IsBinder() bool { return e.settings.BindVerb != "" }

// SupportsPreemption implements fwk.Extender.
func (e *Extender) SupportsPreemption() bool { return e.settings.PreemptVerb != "" }

// IsIgnorable implements fwk.Extender: it reports whether pods are scheduled without the extender when it fails.
func (e *Extender) IsIgnorable() bool { return e.settings.Ignorable }

// IsInterested implements fwk.Extender: an extender that manages no resources is asked about every pod, any other about
// those with a container that requests one of them or limits itself to some of it.
func (e *Extender) IsInterested(pod *v1.Pod) bool {
	return len(e.managed) == 0 || e.managesAny(pod.Spec.InitContainers) || e.managesAny(pod.Spec.Containers)
}

func (e *Extender) managesAny(containers []v1.Container) bool {
	for i := range containers {
		resources := &containers[i].Resources
		for _, list := range []v1.ResourceList{resources.Requests, resources.Limits} {
			for name := range list {
				if e.managed.Has(string(name)) {
					return true
				}
			}
		}
	}
	return false
}

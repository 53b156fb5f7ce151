// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"maps"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// attributes are what RBAC sees of a request.
type attributes = request.RequestInfo

// Record keeps what clients asked the API server to do. It may be used by several goroutines.
type Record struct {
	factory request.RequestInfoFactory

	mu       sync.Mutex
	uses     map[Use]int
	bindings map[string]int // accepted bindings by pod, "namespace/name"
}

// Use is something that a client asked for, in the terms of an RBAC rule.
type Use struct {
	Group, Resource, Verb string // the resource with its subresource, such as pods/status
}

// String is such as "patch pods/status" or "create leases.coordination.k8s.io".
func (u Use) String() string {
	if u.Group == "" {
		return u.Verb + " " + u.Resource
	}
	return fmt.Sprintf("%s %s.%s", u.Verb, u.Resource, u.Group)
}

func newRecord() *Record {
	return &Record{
		factory:  request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")},
		uses:     map[Use]int{},
		bindings: map[string]int{},
	}
}

// Uses returns what was asked for, and how often.
func (r *Record) Uses() map[Use]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.uses)
}

// Bindings returns, by "namespace/name", how many bindings of a pod the API server accepted.
func (r *Record) Bindings() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.bindings)
}

// attributes reads a request and counts it.
func (r *Record) attributes(incoming *http.Request) *attributes {
	info, err := r.factory.NewRequestInfo(incoming)
	if err != nil || !info.IsResourceRequest {
		return &attributes{}
	}
	use := Use{Group: info.APIGroup, Resource: info.Resource, Verb: info.Verb}
	if info.Subresource != "" {
		use.Resource += "/" + info.Subresource
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.uses[use]++
	if use.Resource == "resourceclaims/status" {
		// The API server asks for this right too when a write changes the allocation or the reservations of a claim. The
		// scheduler writes nothing else there.
		use.Resource = "resourceclaims/binding"
		r.uses[use]++
	}
	return info
}

// answered counts the bindings that the API server accepted.
func (r *Record) answered(info *attributes, code int) {
	if info.Resource != "pods" || info.Subresource != "binding" || code >= 300 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bindings[info.Namespace+"/"+info.Name]++
}

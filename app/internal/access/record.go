// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// remembered is how long a refusal of a request counts that is not repeated on its own, as those of informers are.
	remembered = 5 * time.Minute
	// repeated is how often something that lasts is logged.
	repeated = time.Minute
)

// Request is a kind of request, as roles speak of it.
type Request struct {
	// Verb is one of those of roles, such as list or create.
	Verb string
	// Group is empty for the core group.
	Group string
	// Resource is a plural, with a subresource after a slash if there is one.
	Resource string
}

// String returns the request as in "list resourceclaims.resource.k8s.io".
func (r Request) String() string {
	return r.Verb + " " + schema.GroupResource{Group: r.Group, Resource: r.Resource}.String()
}

// watches reports whether an informer makes the request.
func (r Request) watches() bool { return r.Verb == "list" || r.Verb == "watch" }

// Options are the parts of a [Record]; the zero value of each is its default.
type Options struct {
	// Logger is where holes are logged; the zero value logs nothing.
	Logger klog.Logger
	// Clock tells the time; nil means real time.
	Clock clock.PassiveClock
}

// Record is what is known of a client's access to an API server. Make one with [NewRecord]; it is safe for concurrent
// use.
type Record struct {
	logger klog.Logger
	clock  clock.PassiveClock

	mu sync.Mutex
	// refused and absent have the time at which a request last failed so.
	refused, absent map[Request]time.Time
	// logged has the time at which something was last logged, by request or, for the connection, by the empty one.
	logged      map[Request]time.Time
	unreachable error
}

// NewRecord returns a record of a client that has made no request yet.
func NewRecord(options Options) *Record {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Record{
		logger:  options.Logger,
		clock:   options.Clock,
		refused: map[Request]time.Time{},
		absent:  map[Request]time.Time{},
		logged:  map[Request]time.Time{},
	}
}

// Refused returns the requests that the client has no permission for, as far as it tried, sorted.
func (r *Record) Refused() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	maps.DeleteFunc(r.refused, func(request Request, at time.Time) bool {
		return !request.watches() && now.Sub(at) > remembered
	})
	return slices.SortedFunc(maps.Keys(r.refused), compare)
}

func compare(a, b Request) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
}

// Absent reports whether the API server does not know a kind of object that the client tried to list or watch.
func (r *Record) Absent(kind schema.GroupResource) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for request := range r.absent {
		if request.Group == kind.Group && request.Resource == kind.Resource {
			return true
		}
	}
	return false
}

// Check returns an error that names what the client has no permission for; nil if nothing is known to be missing.
func (r *Record) Check() error {
	if refused := r.Refused(); len(refused) > 0 {
		var names []string
		for _, request := range refused {
			names = append(names, request.String())
		}
		return fmt.Errorf("the API server does not permit: %s", strings.Join(names, ", "))
	}
	return nil
}

// Unreachable returns why the last request did not reach the API server; nil if it did.
func (r *Record) Unreachable() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unreachable == nil {
		return nil
	}
	return fmt.Errorf("the API server cannot be reached: %w", r.unreachable)
}

// failed notes that a request failed in one of the ways that failures has.
func (r *Record) failed(failures map[Request]time.Time, request Request) (log bool) {
	now := r.clock.Now()
	failures[request] = now
	return r.due(request, now)
}

// due reports whether it is time to log something once more.
func (r *Record) due(about Request, now time.Time) bool {
	if last, ok := r.logged[about]; ok && now.Sub(last) < repeated {
		return false
	}
	r.logged[about] = now
	return true
}

func (r *Record) noteRefused(request Request, message string) {
	r.mu.Lock()
	log := r.failed(r.refused, request)
	r.mu.Unlock()
	if log {
		r.logger.Error(nil, "The API server does not permit a request; add it to a role of the scheduler",
			"verb", request.Verb, "apiGroup", request.Group, "resource", request.Resource, "message", message)
	}
}

func (r *Record) noteAbsent(request Request) {
	r.mu.Lock()
	log := r.failed(r.absent, request)
	r.mu.Unlock()
	if log {
		r.logger.Error(nil, "The API server does not know a kind of object that the scheduler watches; is its CustomResourceDefinition missing?",
			"apiGroup", request.Group, "resource", request.Resource)
	}
}

func (r *Record) noteAnswered(request Request) {
	answered := []Request{request}
	if request.Verb == "watch" { // informers that can watch need not list
		answered = append(answered, Request{Verb: "list", Group: request.Group, Resource: request.Resource})
	}
	for _, request := range answered {
		r.mu.Lock()
		_, wasRefused := r.refused[request]
		delete(r.refused, request)
		delete(r.absent, request)
		delete(r.logged, request)
		r.mu.Unlock()
		if wasRefused {
			r.logger.Info("The API server no longer turns down a request", "request", request.String())
		}
	}
}

// noteReached notes whether the API server answered at all.
func (r *Record) noteReached(err error) {
	r.mu.Lock()
	was := r.unreachable
	r.unreachable = err
	log := err != nil && r.due(Request{}, r.clock.Now())
	if err == nil {
		delete(r.logged, Request{})
	}
	r.mu.Unlock()
	switch {
	case log:
		r.logger.Error(err, "The API server cannot be reached; trying again")
	case err == nil && was != nil:
		r.logger.Info("The API server can be reached again")
	}
}

// idle reports whether nothing is recorded that an answer could change.
func (r *Record) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.refused) == 0 && len(r.absent) == 0 && r.unreachable == nil
}

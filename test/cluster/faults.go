// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is a way in which a request goes wrong.
type Fault string

// The faults. All but LostAnswer and CutWatch happen before the API server has seen the request.
const (
	TooManyRequests Fault = "429"
	InternalError   Fault = "500"
	Unavailable     Fault = "503"
	Timeout         Fault = "timeout"          // no answer for a second or two, then a 504
	Abort           Fault = "abort"            // the answer is that there will be none
	LostAnswer      Fault = "lost answer"      // the same after the API server did the work
	Reset           Fault = "connection reset" // breaks everything else on the connection too; a tenth as often as the others
	CutWatch        Fault = "cut watch"        // a watch ends after a few seconds, in the middle of whatever it was sending
)

// AllFaults lists them.
func AllFaults() []Fault {
	return []Fault{TooManyRequests, InternalError, Unavailable, Timeout, Abort, LostAnswer, Reset, CutWatch}
}

// Faults decides which requests go wrong, and how. It may be used by several goroutines.
type Faults struct {
	share float64 // of the requests

	mu     sync.Mutex
	random *rand.Rand
	counts map[Fault]int
}

// NewFaults returns faults for a share of the requests, each kind equally often but for Reset, and for half of the watches.
func NewFaults(share float64, seed uint64) *Faults {
	return &Faults{share: share, random: rand.New(rand.NewPCG(seed, 1)), counts: map[Fault]int{}}
}

// Counts returns how often each fault was injected.
func (f *Faults) Counts() map[Fault]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// String tells the counts.
func (f *Faults) String() string {
	counts := f.Counts()
	var parts []string
	for _, fault := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", fault, counts[fault]))
	}
	return strings.Join(parts, ", ")
}

// choose returns the fault of the next request, "" for none, and how long whatever takes time in it takes.
func (f *Faults) choose(watch bool) (Fault, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault := Fault("")
	delay := time.Second + time.Duration(f.random.Int64N(int64(time.Second)))
	switch {
	case f.random.Float64() < f.share:
		fault = Reset
		if often := AllFaults()[:6]; f.random.IntN(61) > 0 {
			fault = often[f.random.IntN(len(often))]
		}
	case watch && f.random.IntN(2) == 0:
		fault, delay = CutWatch, time.Duration(f.random.Int64N(int64(8*time.Second)))
	}
	if fault != "" {
		f.counts[fault]++
	}
	return fault, delay
}

// spoil makes the request go wrong if it is its turn. It returns whether the request has been dealt with; if not, the
// request to go on with.
func (f *Faults) spoil(front *Front, w http.ResponseWriter, r *http.Request, attributes *attributes) (*http.Request, bool) {
	watch := attributes.Verb == "watch"
	fault, delay := f.choose(watch)
	switch fault {
	case TooManyRequests:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	case InternalError:
		refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
	case Unavailable:
		refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	case Timeout:
		if pause(r.Context(), delay) {
			refuse(w, http.StatusGatewayTimeout, metav1.StatusReasonTimeout)
		}
	case Abort:
		panic(http.ErrAbortHandler)
	case LostAnswer:
		if !watch { // whose answer has no end
			front.pass(httptest.NewRecorder(), r, attributes)
		}
		panic(http.ErrAbortHandler)
	case Reset:
		reset(r)
	case CutWatch:
		ctx, cancel := context.WithCancel(r.Context())
		time.AfterFunc(delay, cancel)
		return r.WithContext(ctx), false
	default:
		return r, false
	}
	return r, true
}

// refuse answers as the API server does.
func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure,
		Code:     int32(code),
		Reason:   reason,
		Message:  "injected: " + string(reason),
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(status)
}

// pause returns false if the client gave up before the time was over.
func pause(ctx context.Context, delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

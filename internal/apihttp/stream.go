// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// stream is the body of the answer to a watch: events that wait to be read.
type stream struct {
	encoding
	hub      *Hub
	selector *selector
	gvr      schema.GroupVersionResource
	// after is the version that the watch began after.
	after   int64
	encoder streaming.Encoder

	mu sync.Mutex
	// forget ends the wait for the end of the request's context.
	forget func() bool
	// changed is signalled when there is more to read, when a reader begins to wait, and at the end.
	changed sync.Cond
	unread  bytes.Buffer
	waiting bool
	closed  bool
}

var _ io.ReadCloser = &stream{}

func newStream(c *call, chosen *selector) *stream {
	s := &stream{encoding: c.encoding, hub: c.hub, selector: chosen, gvr: c.target.Resource.GroupVersionResource}
	s.changed.L = &s.mu
	if !s.info.EncodesAsText {
		s.contentType += ";stream=watch"
	}
	writer := s.info.StreamSerializer.Framer.NewFrameWriter(&s.unread)
	s.encoder = streaming.NewEncoder(writer, s.info.StreamSerializer.Serializer)
	return s
}

// send adds the event that a change is to this watch, and reports whether it is one. Objects come and go as they begin and cease to
// match.
func (s *stream) send(change Change) bool {
	if change.Resource != s.gvr || change.Version <= s.after {
		return false
	}
	before, now := s.selector.matches(change.Old), s.selector.matches(change.New)
	switch {
	case now && before:
		s.event(watch.Modified, stamped(change.New, change.Version))
	case now:
		s.event(watch.Added, stamped(change.New, change.Version))
	case before && change.New != nil:
		s.event(watch.Deleted, stamped(change.New, change.Version))
	case before:
		s.event(watch.Deleted, stamped(change.Old, change.Version))
	}
	return now || before
}

// stamped returns an object as it was at a version.
func stamped(o Object, version int64) Object {
	text := strconv.FormatInt(version, 10)
	if o.GetResourceVersion() == text {
		return o
	}
	copied := o.DeepCopyObject().(Object)
	copied.SetResourceVersion(text)
	return copied
}

// bookmark adds an event that only says up to which version the watch has everything.
func (s *stream) bookmark(version int64, annotations map[string]string) {
	var marked Object = &unstructured.Unstructured{}
	if s.resource.Typed {
		if typed, err := scheme.Scheme.New(s.resource.GroupVersionKind()); err == nil {
			marked = typed.(Object)
		}
	}
	if untyped, ok := marked.(*unstructured.Unstructured); ok {
		untyped.SetGroupVersionKind(s.resource.GroupVersionKind())
	}
	marked.SetResourceVersion(strconv.FormatInt(version, 10))
	marked.SetAnnotations(annotations)
	s.event(watch.Bookmark, marked)
}

// event adds an event. An object that cannot be encoded ends the watch, so that the client lists again.
func (s *stream) event(kind watch.EventType, o Object) {
	data, err := s.encode(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = s.encoder.Encode(&metav1.WatchEvent{Type: string(kind), Object: apiruntime.RawExtension{Raw: data}})
	}
	if err != nil {
		s.closed = true
	}
	s.changed.Broadcast()
}

// Read implements io.Reader. It waits for events.
func (s *stream) Read(into []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.unread.Len() == 0 && !s.closed {
		s.waiting = true
		s.changed.Broadcast()
		s.changed.Wait()
	}
	s.waiting = false
	if s.closed {
		return 0, io.EOF
	}
	return s.unread.Read(into)
}

// endWith ends the watch when the context of its request is over.
func (s *stream) endWith(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget = context.AfterFunc(ctx, func() { _ = s.Close() })
}

// Close implements io.Closer. It ends the watch.
func (s *stream) Close() error {
	s.hub.remove(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forget != nil {
		s.forget()
	}
	s.closed = true
	s.changed.Broadcast()
	return nil
}

// taken reports whether the reader has everything and waits for more.
func (s *stream) taken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed || s.waiting && s.unread.Len() == 0
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// longestRefusal bounds what is read of the answer to a refused request.
const longestRefusal = 64 << 10 // bytes

// Wrap returns a transport that records what comes back through another one. It is what rest.Config.Wrap takes.
func (r *Record) Wrap(next http.RoundTripper) http.RoundTripper {
	return &transport{record: r, next: next, resolver: &request.RequestInfoFactory{
		APIPrefixes:          sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api"),
	}}
}

type transport struct {
	record   *Record
	next     http.RoundTripper
	resolver request.RequestInfoResolver
}

// WrappedRoundTripper lets client-go find the transport that closes idle connections.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(req)
	switch {
	case err != nil:
		if req.Context().Err() == nil { // otherwise the caller gave up, which says nothing about the server
			t.record.noteReached(err)
		}
		return response, err
	case response.StatusCode < http.StatusBadRequest && t.record.idle():
		return response, nil
	}
	t.record.noteReached(nil)
	t.note(req, response)
	return response, nil
}

// note records what an answer says about permissions.
func (t *transport) note(req *http.Request, response *http.Response) {
	info, err := t.resolver.NewRequestInfo(req)
	if err != nil || !info.IsResourceRequest {
		return
	}
	asked := Request{Verb: info.Verb, Group: info.APIGroup, Resource: info.Resource}
	if info.Subresource != "" {
		asked.Resource += "/" + info.Subresource
	}
	switch {
	case response.StatusCode == http.StatusForbidden:
		// Admission and quota refuse requests too, for other reasons than roles.
		response.Body = &refusal{ReadCloser: response.Body, phrase: "cannot " + info.Verb + " resource", note: func(message string) {
			t.record.noteRefused(asked, printable(message))
		}}
	case response.StatusCode == http.StatusNotFound && asked.watches() && info.Name == "":
		t.record.noteAbsent(asked)
	case response.StatusCode < http.StatusBadRequest:
		t.record.noteAnswered(asked)
	}
}

// refusal is the body of an answer to a refused request. It is looked at while the client reads it, and not before: the end
// may be long in coming, or never come.
type refusal struct {
	io.ReadCloser
	// phrase is what the message has if a permission is missing; note is then called with what was read, once.
	phrase string
	note   func(message string)

	read  []byte
	noted bool
}

// Read implements io.Reader.
func (r *refusal) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if room := longestRefusal - len(r.read); !r.noted && room > 0 {
		r.read = append(r.read, p[:min(n, room)]...)
	}
	r.look(err != nil)
	return n, err
}

// Close implements io.Closer.
func (r *refusal) Close() error {
	r.look(true)
	return r.ReadCloser.Close()
}

// look notes the message if it is complete: something follows the sentence, or nothing more will be read.
func (r *refusal) look(ended bool) {
	if r.noted {
		return
	}
	text := string(r.read)
	_, rest, found := strings.Cut(text, r.phrase)
	if found && (ended || strings.Contains(rest, `","`) || strings.IndexFunc(rest, isControl) >= 0) {
		r.noted = true
		r.note(text)
	}
}

func isControl(c rune) bool { return c < ' ' || c == 0xFFFD }

// printable returns the sentence in a message that may be JSON or a binary encoding: from the first "User" on.
func printable(message string) string {
	if i := strings.Index(message, "User "); i >= 0 {
		message = message[i:]
	}
	end := strings.IndexFunc(message, isControl)
	if end >= 0 {
		message = message[:end]
	}
	if i := strings.Index(message, `","reason"`); i >= 0 {
		message = message[:i]
	}
	return strings.ReplaceAll(message, `\"`, `"`)
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
	restclient "k8s.io/client-go/rest"
)

// host is the address that clients believe to talk to. It has the reserved name of a host that there is not.
const host = "http://cluster.invalid"

// Transport answers requests from a backend, in the goroutine that makes them. It is safe for concurrent use.
type Transport struct {
	backend Backend
	hub     *Hub
	parser  apirequest.RequestInfoFactory
	codecs  serializer.CodecFactory
}

var _ http.RoundTripper = &Transport{}

// NewTransport returns a transport whose watches are told about changes by the hub, which several transports may share.
func NewTransport(backend Backend, hub *Hub) *Transport {
	return &Transport{
		backend: backend,
		hub:     hub,
		parser: apirequest.RequestInfoFactory{
			APIPrefixes: map[string]sets.Empty{"api": {}, "apis": {}}, GrouplessAPIPrefixes: map[string]sets.Empty{"api": {}},
		},
		codecs: serializer.NewCodecFactory(scheme.Scheme),
	}
}

// Config returns a configuration for clients, which don't limit their own rate.
func (t *Transport) Config() *restclient.Config {
	return &restclient.Config{Host: host, Transport: t, QPS: -1}
}

// RoundTrip implements http.RoundTripper. Bad requests are answered; it fails only if the body cannot be read or the
// context is over.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		var err error
		body, err = io.ReadAll(request.Body)
		if err := errors.Join(err, request.Body.Close()); err != nil {
			return nil, fmt.Errorf("reading the body of %s %s: %w", request.Method, request.URL.Path, err)
		}
	}
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	response, err := t.answer(request, body)
	if err != nil {
		response = statusResponse(err)
	}
	response.Request = request
	return response, nil
}

func (t *Transport) answer(request *http.Request, body []byte) (*http.Response, error) {
	info, err := t.parser.NewRequestInfo(request)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if !info.IsResourceRequest {
		return t.discover(request)
	}
	call, err := t.newCall(request, info, body)
	if err != nil {
		return nil, err
	}
	return call.answer()
}

// respond returns a response with a body.
func respond(code int, contentType string, body io.ReadCloser, length int64) *http.Response {
	return &http.Response{
		StatusCode: code, Status: fmt.Sprintf("%d %s", code, http.StatusText(code)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType}},
		Body:   body, ContentLength: length,
	}
}

func respondWith(code int, contentType string, data []byte) *http.Response {
	return respond(code, contentType, io.NopCloser(bytes.NewReader(data)), int64(len(data)))
}

// respondJSON answers with an object of the API's own kinds.
func respondJSON(code int, answer any) *http.Response {
	data, err := json.Marshal(answer)
	if err != nil {
		code, data = http.StatusInternalServerError, nil
	}
	return respondWith(code, apiruntime.ContentTypeJSON, data)
}

// statusResponse answers with an error.
func statusResponse(err error) *http.Response {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(err)
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	code := int(status.Code)
	if code == 0 {
		code = http.StatusInternalServerError
	}
	return respondJSON(code, &status)
}

// success is what requests without a result are answered with.
func success() *http.Response {
	return respondJSON(http.StatusOK, &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Code: http.StatusOK,
	})
}

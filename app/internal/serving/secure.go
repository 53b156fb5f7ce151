// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	endpointfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/filters"
)

// Secure returns a handler that lets through only requests of users who may make them: first the authenticator says who
// asks, then the authorizer whether they may. Denials are answered as an API server does.
func Secure(handler http.Handler, who authenticator.Request, may authorizer.UnconditionalAuthorizer) http.Handler {
	codecs := statusCodecs()
	resolver := &request.RequestInfoFactory{} // nothing here is a resource
	handler = endpointfilters.WithAuthorization(handler, may, codecs)
	handler = endpointfilters.WithAuthentication(handler, who, endpointfilters.Unauthorized(codecs), nil, nil)
	handler = endpointfilters.WithRequestInfo(handler, resolver)
	handler = endpointfilters.WithCacheControl(handler)
	handler = filters.WithHTTPLogging(handler)
	return filters.WithPanicRecovery(handler, resolver)
}

// statusCodecs write the answers to requests that are denied.
func statusCodecs() serializer.CodecFactory {
	scheme := apiruntime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme)
}

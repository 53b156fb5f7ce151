// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apihttp serves objects as the Kubernetes API does, to clients in the same process: a [Transport] takes the
// place of the network in a rest.Config. Every client that is made of such a configuration works on it, be it a typed
// one, a dynamic one, or that of controller-runtime, with its informers.
//
// It knows HTTP and the encodings; what the objects are and what becomes of a request is up to a [Backend]. There is
// discovery (not aggregated), get, list with label and field selectors, watch with resource versions, bookmarks and
// initial events, create, update, patch, delete and deletecollection, in JSON and, for kinds that client-go has a type
// for, protobuf, and metadata-only answers. Lists are not divided into pages, and there are neither dry runs nor OpenAPI.
//
// See https://kubernetes.io/docs/reference/using-api/api-concepts/.
package apihttp

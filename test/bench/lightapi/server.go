// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lightapi is an API server for the start of a scheduler: it lists and streams as many nodes and pods as there are
// to be, and takes bindings. It does so at next to no cost, so that what is measured is the scheduler.
package lightapi

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// resource is a kind of objects, encoded.
type resource struct {
	apiVersion, kind string
	items            [][]byte
}

// Server serves objects that never change, but for one pod that is to be bound.
type Server struct {
	// URL is where it listens.
	URL string
	// NoWatchLists refuses to stream what there is, as API servers do that can't, so that clients have to list it.
	NoWatchLists bool

	server    *http.Server
	listener  net.Listener
	resources map[string]*resource // by the last part of their path

	mu    sync.Mutex
	bound chan struct{} // closed with the first binding
	// lists counts requests for lists of pods, and pages those of them that were limited.
	lists, pages int
}

// version is the resource version of everything.
const version = "1000000"

// New encodes objects and serves them on a port of this machine.
func New(objects map[string][]Object) (*Server, error) {
	s := &Server{resources: map[string]*resource{}, bound: make(chan struct{})}
	for name, kind := range kinds {
		s.resources[name] = &resource{apiVersion: kind[0], kind: kind[1]}
	}
	for name, all := range objects {
		r := s.resources[name]
		if r == nil {
			return nil, fmt.Errorf("there is no kind of objects called %q", name)
		}
		for _, object := range all {
			encoded, err := object.Marshal()
			if err != nil {
				return nil, fmt.Errorf("encoding %s: %w", name, err)
			}
			r.items = append(r.items, encoded)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	s.listener, s.URL = listener, "http://"+listener.Addr().String()
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

// Object is an object of the API.
type Object interface{ Marshal() ([]byte, error) }

// Close stops serving.
func (s *Server) Close() { _ = s.server.Close() }

// WaitBound returns when a pod has been bound.
func (s *Server) WaitBound(ctx context.Context) error {
	select {
	case <-s.bound:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the first binding: %w", context.Cause(ctx))
	}
}

// Lists returns how many times pods were listed, and how many of these were for a page of them.
func (s *Server) Lists() (all, pages int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.pages
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	last := parts[len(parts)-1]
	r := s.resources[last]
	switch {
	case request.Method == http.MethodPost && last == "binding":
		s.bind()
		writeJSON(w, http.StatusCreated, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	case request.Method != http.MethodGet:
		writeJSON(w, http.StatusOK, `{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"e"}}`)
	case r == nil:
		writeJSON(w, http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	case request.URL.Query().Get("watch") != "":
		_ = s.watch(w, request, r)
	default:
		s.list(w, request, r)
	}
}

func writeJSON(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}

func (s *Server) bind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.bound:
	default:
		close(s.bound)
	}
}

// list does what an API server does: of a version of zero, it gives all there is, whatever the limit.
func (s *Server) list(w http.ResponseWriter, request *http.Request, r *resource) {
	query := request.URL.Query()
	first, _ := strconv.Atoi(query.Get("continue"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	items, meta := r.items[first:], metav1.ListMeta{ResourceVersion: version}
	paged := limit > 0 && query.Get("resourceVersion") == ""
	if paged && len(items) > limit {
		left := int64(len(items) - limit)
		items, meta.Continue, meta.RemainingItemCount = items[:limit], strconv.Itoa(first+limit), &left
	}
	if r.kind == "Pod" {
		s.mu.Lock()
		s.lists++
		if paged {
			s.pages++
		}
		s.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
	buffered := bufio.NewWriterSize(w, 1<<16)
	_ = writeList(buffered, r, items, meta)
	_ = buffered.Flush()
}

// watch sends what there is, if that is asked for, and then nothing until the request ends.
func (s *Server) watch(w http.ResponseWriter, request *http.Request, r *resource) error {
	initial := request.URL.Query().Get("sendInitialEvents") == "true"
	if initial && s.NoWatchLists {
		writeJSON(w, http.StatusUnprocessableEntity, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
		return nil
	}
	w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
	w.WriteHeader(http.StatusOK)
	buffered := bufio.NewWriterSize(w, 1<<16)
	if initial {
		end, err := bookmark(version)
		if err != nil {
			return err
		}
		var frame []byte
		for i := range len(r.items) + 1 {
			kind, object := "ADDED", end
			if i < len(r.items) {
				object = r.items[i]
			} else {
				kind = "BOOKMARK"
			}
			if frame, err = appendEvent(frame[:0], kind, r, object); err != nil {
				return err
			}
			if _, err := buffered.Write(frame); err != nil {
				return err
			}
		}
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		return err
	}
	<-request.Context().Done()
	return nil
}

// kinds are the version and kind of what schedulers list, by the last part of the path.
var kinds = map[string][2]string{
	"pods":                   {"v1", "Pod"},
	"nodes":                  {"v1", "Node"},
	"namespaces":             {"v1", "Namespace"},
	"services":               {"v1", "Service"},
	"replicationcontrollers": {"v1", "ReplicationController"},
	"persistentvolumes":      {"v1", "PersistentVolume"},
	"persistentvolumeclaims": {"v1", "PersistentVolumeClaim"},
	"replicasets":            {"apps/v1", "ReplicaSet"},
	"statefulsets":           {"apps/v1", "StatefulSet"},
	"poddisruptionbudgets":   {"policy/v1", "PodDisruptionBudget"},
	"storageclasses":         {"storage.k8s.io/v1", "StorageClass"},
	"csinodes":               {"storage.k8s.io/v1", "CSINode"},
	"csidrivers":             {"storage.k8s.io/v1", "CSIDriver"},
	"csistoragecapacities":   {"storage.k8s.io/v1", "CSIStorageCapacity"},
	"volumeattachments":      {"storage.k8s.io/v1", "VolumeAttachment"},
	"resourceclaims":         {"resource.k8s.io/v1", "ResourceClaim"},
	"resourceslices":         {"resource.k8s.io/v1", "ResourceSlice"},
	"deviceclasses":          {"resource.k8s.io/v1", "DeviceClass"},
	"devicetaintrules":       {"resource.k8s.io/v1", "DeviceTaintRule"},
}

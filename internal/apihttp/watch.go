// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// watch begins a stream of events. One without a version, or with version 0, begins with the objects that there are.
func (c *call) watch() (*http.Response, error) {
	chosen, err := c.selector()
	if err != nil {
		return nil, err
	}
	after, err := c.watchedVersion()
	if err != nil {
		return nil, err
	}
	s := newStream(c, chosen)
	initial := ptr.Deref(c.options.SendInitialEvents, after == 0)
	if initial || after == 0 {
		after = c.sendExisting(s, initial)
	}
	if !c.hub.add(s, after) {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d", after))
	}
	s.endWith(c.request.Context())
	return respond(http.StatusOK, s.contentType, s, -1), nil
}

// watchedVersion returns the version after which the watch begins, 0 for any.
func (c *call) watchedVersion() (int64, error) {
	if c.options.ResourceVersion == "" {
		return 0, nil
	}
	version, err := strconv.ParseInt(c.options.ResourceVersion, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("reading the resource version: %v", err))
	}
	return version, nil
}

// sendExisting sends the objects that there are, if they are asked for, and the bookmark after them, and returns their
// version.
func (c *call) sendExisting(s *stream, send bool) int64 {
	target := c.target
	target.Name = ""
	all, version := c.backend.List(target)
	if !send {
		return version
	}
	for _, o := range all {
		if s.selector.matches(o) {
			s.event(watch.Added, o)
		}
	}
	if c.options.AllowWatchBookmarks && ptr.Deref(c.options.SendInitialEvents, false) {
		s.bookmark(version, map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return version
}

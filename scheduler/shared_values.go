// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxShared is how many different values of a kind are remembered. When there are more, all are forgotten, which only
// means that later equal values don't share memory with those before.
const maxShared = 1 << 15

// sharedValues remembers parts of objects, so that equal parts of different objects become one in memory. Objects
// from informers are never changed, so sharing is safe. The zero value is ready. It is safe for concurrent use.
type sharedValues struct {
	mu         sync.Mutex
	key        []byte
	texts      pool[string]
	labels     pool[map[string]string]
	owners     pool[[]metav1.OwnerReference]
	specs      pool[*v1.PodSpec]
	affinities pool[*v1.Affinity]
	statuses   pool[*v1.PodStatus]
	resources  pool[v1.ResourceList]
	images     pool[[]string]
}

// pool has values by what they are encoded as.
type pool[T any] map[string]T

// share returns the value that was remembered under the key, which may be this one. It reports whether it was known.
func (p *pool[T]) share(key []byte, value T) (T, bool) {
	if known, ok := (*p)[string(key)]; ok {
		return known, true
	}
	if *p == nil || len(*p) >= maxShared {
		*p = pool[T]{}
	}
	(*p)[string(key)] = value
	return value, false
}

// encodable is a message of the API. Equal messages have equal encodings.
type encodable interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

// encode returns the encoding of a message, which is good until the next call; false if it has none.
func (s *sharedValues) encode(message encodable) ([]byte, bool) {
	size := message.Size()
	if cap(s.key) < size {
		s.key = make([]byte, 2*size)
	}
	key := s.key[:size]
	_, err := message.MarshalToSizedBuffer(key)
	return key, err == nil
}

// shareText replaces a string by an equal one.
func (s *sharedValues) shareText(text *string) {
	if *text == "" {
		return
	}
	if known, ok := s.texts[*text]; ok {
		*text = known
		return
	}
	if s.texts == nil || len(s.texts) >= maxShared {
		s.texts = pool[string]{}
	}
	s.texts[*text] = *text
}

func (s *sharedValues) shareLabels(labels *map[string]string) {
	if len(*labels) == 0 {
		return
	}
	if key, ok := s.encode(&metav1.ObjectMeta{Labels: *labels}); ok {
		*labels, _ = s.labels.share(key, *labels)
	}
}

// shareTexts replaces the keys and values of a map, of which few maps have the same ones.
func (s *sharedValues) shareTexts(texts map[string]string) {
	for key, value := range texts {
		s.shareText(&key)
		s.shareText(&value)
		texts[key] = value
	}
}

func (s *sharedValues) shareOwners(owners *[]metav1.OwnerReference) {
	if len(*owners) == 0 {
		return
	}
	if key, ok := s.encode(&metav1.ObjectMeta{OwnerReferences: *owners}); ok {
		*owners, _ = s.owners.share(key, *owners)
	}
}

func (s *sharedValues) shareAffinity(affinity **v1.Affinity) {
	if *affinity == nil {
		return
	}
	if key, ok := s.encode(*affinity); ok {
		*affinity, _ = s.affinities.share(key, *affinity)
	}
}

func (s *sharedValues) shareResources(list *v1.ResourceList) {
	if len(*list) == 0 {
		return
	}
	if key, ok := s.encode(&v1.ResourceRequirements{Requests: *list}); ok {
		*list, _ = s.resources.share(key, *list)
	}
}

func (s *sharedValues) shareImageNames(names *[]string) {
	key := []byte(strings.Join(*names, "\n"))
	*names, _ = s.images.share(key, *names)
}

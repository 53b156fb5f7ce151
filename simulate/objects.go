// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"

	"github.com/rouse-scheduler/rouse/internal/manifest"
)

// kindOf returns the kind of an object that was just read.
func kindOf(o object) schema.GroupVersionKind { return o.GetObjectKind().GroupVersionKind() }

// isList reports whether a document or an item is a list of objects.
func isList(header manifest.Header) bool { return strings.HasSuffix(header.Kind, "List") }

// readList takes the objects of a list, and of the lists in it. The items of a list of one kind, such as PodList, may
// leave their kind out.
func (l *loader) readList(from source, data []byte, header manifest.Header) {
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := from.decodeLenient(data, &list); err != nil {
		l.errs.Add(err)
		return
	}
	items := from.field("items")
	for i, item := range list.Items {
		if l.full() {
			return
		}
		from := items.field(indexed(i))
		of, err := headerOf(from, item)
		if err != nil {
			l.errs.Add(err)
			continue
		}
		if element := strings.TrimSuffix(header.Kind, "List"); of.Kind == "" && element != "" {
			of.Kind, of.APIVersion = element, header.APIVersion
		}
		switch {
		case isScenario(of):
			l.errs.Add(from.errorf("a %s is a document of its own and cannot be part of a list", scenarioKind))
		case isList(of):
			l.readList(from, item, of)
		default:
			l.readObject(from, item, of)
		}
	}
}

// headerOf reads what identifies an object that is part of a document.
func headerOf(from source, data []byte) (manifest.Header, error) {
	var partial struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &partial); err != nil {
		return manifest.Header{}, from.document.DecodeFieldLenient(from.path, data, &partial)
	}
	return manifest.Header{
		APIVersion: partial.APIVersion, Kind: partial.Kind,
		Namespace: partial.Metadata.Namespace, Name: partial.Metadata.Name,
	}, nil
}

// readObject takes one object of a manifest.
func (l *loader) readObject(from source, data []byte, header manifest.Header) {
	loaded, err := l.decodeObject(from, data, header)
	if err != nil {
		l.errs.Add(err)
		return
	}
	if loaded.GetName() == "" && loaded.GetGenerateName() == "" {
		if l.kinds.scheduled(kindOf(loaded)) != nil {
			l.errs.Add(from.field("metadata").errorf("the %s has no name; set metadata.name", header.Kind))
			return
		}
	}
	if err := l.checkDuplicate(from, loaded); err != nil {
		l.errs.Add(err)
		return
	}
	l.input.objects = append(l.input.objects, &loadedObject{object: loaded, source: from})
}

func (l *loader) checkDuplicate(from source, loaded object) error {
	if loaded.GetName() == "" {
		return nil
	}
	gvk := kindOf(loaded)
	key := gvk.GroupKind().String() + " " + keyOf(loaded.GetNamespace(), loaded.GetName())
	if first, found := l.defined[key]; found {
		k := kind{GroupVersionKind: gvk}
		return from.errorf("%s is already defined at %s", k.describe(loaded.GetNamespace(), loaded.GetName()), first.position())
	}
	l.defined[key] = from
	return nil
}

// decodeObject turns JSON into an object with its kind set: a typed one if scheduling reads the kind.
func (l *loader) decodeObject(from source, data []byte, header manifest.Header) (object, error) {
	if header.Kind == "" || header.APIVersion == "" {
		return nil, from.errorf("the document is neither a Kubernetes object nor a %s: it needs apiVersion and kind", scenarioKind)
	}
	version, err := schema.ParseGroupVersion(header.APIVersion)
	if err != nil {
		return nil, from.field("apiVersion").errorf("%w", err)
	}
	if err := checkSize(from, data); err != nil {
		return nil, err
	}
	gvk := version.WithKind(header.Kind)
	k := l.kinds.scheduled(gvk)
	if k == nil {
		if err := from.document.CheckQuantities(from.path, data, l.kinds.find(gvk).newObject()); err != nil {
			return nil, err
		}
		other := &unstructured.Unstructured{}
		if err := from.document.DecodeFieldLenient(from.path, data, &other.Object); err != nil {
			return nil, err
		}
		other.SetGroupVersionKind(gvk)
		other.SetNamespace(l.kinds.find(gvk).namespaceOf(other.GetNamespace()))
		return other, nil
	}
	typed := k.newObject()
	if err := l.decodeTyped(from, data, typed); err != nil {
		return nil, err
	}
	typed.GetObjectKind().SetGroupVersionKind(gvk)
	typed.SetNamespace(k.namespaceOf(typed.GetNamespace()))
	setDefaults(typed)
	l.shared.share(typed)
	return typed, nil
}

// checkSize refuses an object that is longer than any request that an API server reads, white space not counted.
func checkSize(from source, data []byte) error {
	if len(data) <= manifest.MaxObjectSize {
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err == nil && compact.Len() <= manifest.MaxObjectSize {
		return nil
	}
	return from.errorf("the object has more than %d bytes, which no API server accepts", manifest.MaxObjectSize)
}

// decodeTyped decodes strictly, but only warns of fields that the type does not have.
func (l *loader) decodeTyped(from source, data []byte, into object) error {
	strict := from.decode(data, into)
	if strict == nil {
		return nil
	}
	if err := from.decodeLenient(data, into); err != nil {
		return err
	}
	l.warnOf(fmt.Sprintf("%T", into), strict)
	return nil
}

// decode decodes the JSON of a whole document or of a field of it.
func (s source) decode(data []byte, into any) error {
	if s.path == "" {
		return s.document.Decode(into)
	}
	return s.document.DecodeField(s.path, data, into)
}

func (s source) decodeLenient(data []byte, into any) error {
	if s.path == "" {
		return s.document.DecodeLenient(into)
	}
	return s.document.DecodeFieldLenient(s.path, data, into)
}

// warning is something that is tolerated, and how many others are like it.
type warning struct {
	text   string
	others int
	// more is the format of text and others if there are others.
	more string
}

// warnOf turns errors into warnings, one for all that only differ in where they are. The directives of patches are
// fields that no type has.
func (l *loader) warnOf(kind string, errs error) {
	var list manifest.ErrorList
	if !errors.As(errs, &list) {
		list = manifest.ErrorList{errs}
	}
	for _, inputErr := range list {
		alike := kind
		var located *manifest.Error
		if errors.As(inputErr, &located) {
			if strings.Contains(located.Field, "$") {
				continue
			}
			alike += " " + l.indices.ReplaceAllString(located.Field, "")
		}
		if first := l.warned[alike]; first != nil {
			first.others++
			continue
		}
		l.warned[alike] = ignoredField(inputErr)
		l.warnings = append(l.warnings, l.warned[alike])
	}
}

// String returns the text of the warning.
func (w *warning) String() string {
	if w.others == 0 {
		return w.text
	}
	return fmt.Sprintf(w.more, w.text, w.others)
}

// ignoredField is the warning of a field that a type does not have.
func ignoredField(err error) *warning {
	return &warning{text: fmt.Sprintf("%v; the field is ignored", err), more: "%s, as %d others like it are"}
}

// knownVersion reports whether client-go has types of a group and version.
func knownVersion(version schema.GroupVersion) bool {
	return scheme.Scheme.IsVersionRegistered(version)
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package lightapi

import (
	"encoding/binary"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Objects go over the wire in protobuf: a magic prefix, and an envelope that names their kind. What is put together here
// by hand are the fields of messages that hold encoded objects, so that none is encoded twice.

// magic begins every object in protobuf.
const magic = "k8s\x00"

// Tags of the fields 1 and 2 of a message, if they have a length: those of an envelope are the kind and the object, those
// of a list the metadata and the items, and those of a watch event the type and the object.
const (
	firstField  = 1<<3 | 2
	secondField = 2<<3 | 2
)

// field appends a field with a length.
func field(to []byte, tag byte, content []byte) []byte {
	return append(fieldHeader(to, tag, len(content)), content...)
}

func fieldHeader(to []byte, tag byte, size int) []byte {
	return binary.AppendUvarint(append(to, tag), uint64(size))
}

// envelopeHeader is what precedes an encoded object of some size.
func envelopeHeader(apiVersion, kind string, size int) ([]byte, error) {
	meta := runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}
	encoded, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	return fieldHeader(field([]byte(magic), firstField, encoded), secondField, size), nil
}

// writeList writes a list of encoded objects.
func writeList(to io.Writer, r *resource, items [][]byte, meta metav1.ListMeta) error {
	encoded, err := meta.Marshal()
	if err != nil {
		return err
	}
	encoded = field(nil, firstField, encoded)
	size := len(encoded)
	var header []byte
	for _, item := range items {
		header = fieldHeader(header[:0], secondField, len(item))
		size += len(header) + len(item)
	}
	envelope, err := envelopeHeader(r.apiVersion, r.kind+"List", size)
	if err != nil {
		return err
	}
	if _, err := to.Write(append(envelope, encoded...)); err != nil {
		return err
	}
	for _, item := range items {
		header = fieldHeader(header[:0], secondField, len(item))
		if _, err := to.Write(header); err != nil {
			return err
		}
		if _, err := to.Write(item); err != nil {
			return err
		}
	}
	return nil
}

// appendEvent appends a frame with an event about an encoded object.
func appendEvent(to []byte, kind string, r *resource, object []byte) ([]byte, error) {
	envelope, err := envelopeHeader(r.apiVersion, r.kind, len(object))
	if err != nil {
		return nil, err
	}
	raw := field(nil, firstField, append(envelope, object...))
	event := field(field(nil, firstField, []byte(kind)), secondField, raw)
	to = binary.BigEndian.AppendUint32(to, uint32(len(event)))
	return append(to, event...), nil
}

// bookmark is the encoded object that tells that all objects that existed have been sent.
func bookmark(version string) ([]byte, error) {
	object := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: version, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	return object.Marshal()
}

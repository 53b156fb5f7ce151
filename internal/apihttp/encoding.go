// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/client-go/kubernetes/scheme"
)

// encoding is how a client wants to have its answers.
type encoding struct {
	resource    *Resource
	info        apiruntime.SerializerInfo
	contentType string
	// metadata is set for clients that want nothing else of an object.
	metadata bool
}

// partialMetadata is what objects are converted to for such clients.
const partialMetadata = "PartialObjectMetadata"

// restrictions are what answers may be converted to.
type restrictions struct{}

// AllowsMediaTypeTransform implements negotiation.EndpointRestrictions.
func (restrictions) AllowsMediaTypeTransform(_, _ string, gvk *schema.GroupVersionKind) bool {
	return gvk == nil || gvk.GroupVersion() == metav1.SchemeGroupVersion && (gvk.Kind == partialMetadata || gvk.Kind == partialMetadata+"List")
}

// AllowsServerVersion implements negotiation.EndpointRestrictions.
func (restrictions) AllowsServerVersion(string) bool { return false }

// AllowsStreamSchema implements negotiation.EndpointRestrictions.
func (restrictions) AllowsStreamSchema(schema string) bool { return schema == "watch" }

// negotiate finds the encoding that a client accepts.
func (t *Transport) negotiate(request *http.Request, resource *Resource) (encoding, error) {
	chosen := encoding{resource: resource}
	accepted, info, err := negotiation.NegotiateOutputMediaType(request, t.codecs, restrictions{})
	if err == nil {
		chosen.metadata = accepted.Convert != nil
		if !chosen.metadata && !resource.Typed {
			_, info, err = negotiation.NegotiateOutputMediaType(request, unstructuredSerializer{}, restrictions{})
		}
	}
	if err != nil {
		return chosen, err
	}
	chosen.info, chosen.contentType = info, info.MediaType
	return chosen, nil
}

// unstructuredSerializer is how objects without a Go type are written and read, which is only as JSON.
type unstructuredSerializer struct {
	apiruntime.NegotiatedSerializer
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (unstructuredSerializer) SupportedMediaTypes() []apiruntime.SerializerInfo {
	return []apiruntime.SerializerInfo{{
		MediaType: apiruntime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json", EncodesAsText: true,
		Serializer: unstructured.UnstructuredJSONScheme,
		StreamSerializer: &apiruntime.StreamSerializerInfo{
			EncodesAsText: true,
			Serializer:    json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{}),
			Framer:        json.Framer,
		},
	}}
}

// encode writes an object.
func (e *encoding) encode(o Object) ([]byte, error) {
	if e.metadata {
		partial := meta.AsPartialObjectMetadata(o)
		partial.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(partialMetadata))
		return apiruntime.Encode(e.info.Serializer, partial)
	}
	return apiruntime.Encode(e.info.Serializer, withKind(o, e.resource.GroupVersionKind()))
}

// withKind returns an object with its kind set, which shares the rest with the original.
func withKind(o apiruntime.Object, gvk schema.GroupVersionKind) apiruntime.Object {
	if _, untyped := o.(*unstructured.Unstructured); untyped {
		return o
	}
	original := reflect.ValueOf(o).Elem()
	copied := reflect.New(original.Type())
	copied.Elem().Set(original)
	shallow := copied.Interface().(apiruntime.Object)
	shallow.GetObjectKind().SetGroupVersionKind(gvk)
	return shallow
}

// encodeList writes the objects as a list.
func (e *encoding) encodeList(objects []Object, version int64) ([]byte, error) {
	list, err := e.newList(objects)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(strconv.FormatInt(version, 10))
	return apiruntime.Encode(e.info.Serializer, list)
}

func (e *encoding) newList(objects []Object) (apiruntime.Object, error) {
	gvk := e.resource.GroupVersion().WithKind(e.resource.Kind + "List")
	switch {
	case e.metadata:
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(partialMetadata + "List"))
		for _, o := range objects {
			list.Items = append(list.Items, *meta.AsPartialObjectMetadata(o))
		}
		return list, nil
	case !e.resource.Typed:
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		for _, o := range objects {
			list.Items = append(list.Items, *o.(*unstructured.Unstructured))
		}
		return list, nil
	}
	list, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	items := make([]apiruntime.Object, len(objects))
	for i, o := range objects {
		items[i] = o
	}
	if err := meta.SetList(list, items); err != nil {
		return nil, err
	}
	list.GetObjectKind().SetGroupVersionKind(gvk)
	return list, nil
}

// decode reads the object of a request, which is of the given kind unless it says otherwise.
func (c *call) decode(gvk schema.GroupVersionKind) (apiruntime.Object, error) {
	decoder, err := c.decoder()
	if err != nil {
		return nil, err
	}
	decoded, actual, err := decoder.Decode(c.body, &gvk, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading the object of the request: %v", err))
	}
	if *actual != gvk {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the request has an object of kind %v, but must have one of %v", actual, gvk))
	}
	if _, untyped := decoded.(*unstructured.Unstructured); !untyped {
		decoded.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return decoded, nil
}

func (c *call) decoder() (apiruntime.Decoder, error) {
	if !c.resource.Typed {
		return unstructured.UnstructuredJSONScheme, nil
	}
	info, err := negotiation.NegotiateInputSerializer(c.request, false, c.codecs)
	if err != nil {
		return nil, err
	}
	return info.Serializer, nil
}

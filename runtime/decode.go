// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	gojson "encoding/json"
	"errors"
	"fmt"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// DecodeInto reads the raw arguments that a factory was given into a struct of the plugin's own. Without arguments
// it leaves the struct as it is, so defaults may be set before. Fields that the struct does not have, names in another
// case among them, are ignored; [DecodeStrict] refuses them.
func DecodeInto(args apiruntime.Object, into any) error {
	if args == nil {
		return nil
	}
	raw, ok := args.(*apiruntime.Unknown)
	if !ok {
		return fmt.Errorf("want args of type runtime.Unknown, got %T", args)
	}
	if len(raw.Raw) == 0 {
		return nil
	}
	var err error
	switch raw.ContentType {
	case apiruntime.ContentTypeJSON, "":
		err = json.Unmarshal(raw.Raw, into)
	case apiruntime.ContentTypeYAML:
		err = yaml.Unmarshal(raw.Raw, into)
	default:
		return fmt.Errorf("not supported content type %s", raw.ContentType)
	}
	if err != nil {
		return fmt.Errorf("decoding plugin arguments into %T: %w", into, err)
	}
	return nil
}

// DecodeStrict is [DecodeInto] for plugins that want to know of arguments that are misspelled or given twice: a field that the
// struct does not have, also one in another case, is an error. Errors about a field are of type [*field.Error], several of them in an
// aggregate. The commands find the line of the configuration by the fields of such errors, also by those that the plugin's own
// validation returns.
func DecodeStrict(args apiruntime.Object, into any) error {
	data, err := argsAsJSON(args)
	if data == nil || err != nil {
		return err
	}
	strict, err := kjson.UnmarshalStrict(data, into)
	var mistyped *gojson.UnmarshalTypeError
	if errors.As(err, &mistyped) {
		return &field.Error{
			Type: field.ErrorTypeTypeInvalid, Field: mistyped.Field, BadValue: field.OmitValueType{},
			Detail: fmt.Sprintf("want %v, found a %s", mistyped.Type, mistyped.Value),
		}
	}
	if err != nil {
		return fmt.Errorf("decoding plugin arguments into %T: %w", into, err)
	}
	var errs field.ErrorList
	for _, unknown := range strict {
		path, message := "", unknown.Error()
		if at, ok := unknown.(kjson.FieldError); ok {
			path = at.FieldPath()
		}
		errs = append(errs, &field.Error{Type: field.ErrorTypeInvalid, Field: path, BadValue: field.OmitValueType{}, Detail: message})
	}
	return errs.ToAggregate()
}

// argsAsJSON returns the raw arguments that a factory was given; nil if there are none.
func argsAsJSON(args apiruntime.Object) ([]byte, error) {
	if args == nil {
		return nil, nil
	}
	raw, ok := args.(*apiruntime.Unknown)
	if !ok {
		return nil, fmt.Errorf("want args of type runtime.Unknown, got %T", args)
	}
	switch raw.ContentType {
	case apiruntime.ContentTypeJSON, "":
		return raw.Raw, nil
	case apiruntime.ContentTypeYAML:
		return yaml.YAMLToJSON(raw.Raw)
	}
	return nil, fmt.Errorf("not supported content type %s", raw.ContentType)
}

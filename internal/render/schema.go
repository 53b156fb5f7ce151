// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"io"
	"reflect"
	"strings"
)

// schema is a JSON schema, of the parts that the outputs of commands need.
type schema struct {
	Dialect    string             `json:"$schema,omitempty"`
	Title      string             `json:"title,omitempty"`
	Type       string             `json:"type"`
	Properties map[string]*schema `json:"properties,omitempty"`
	Required   []string           `json:"required,omitempty"`
	Items      *schema            `json:"items,omitempty"`
	// Values are those of a map.
	Values *schema `json:"additionalProperties,omitempty"`
}

// Schema writes the JSON schema of what [JSON] writes of a value. Fields that are always there are required; there may be others
// in later versions.
func Schema(w io.Writer, title string, value any) error {
	made := schemaOf(reflect.TypeOf(value))
	made.Dialect, made.Title = "https://json-schema.org/draft/2020-12/schema", title
	return JSON(w, made)
}

func schemaOf(t reflect.Type) *schema {
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Float32, reflect.Float64:
		return &schema{Type: "number"}
	case reflect.Slice:
		return &schema{Type: "array", Items: schemaOf(t.Elem())}
	case reflect.Map:
		return &schema{Type: "object", Values: schemaOf(t.Elem())}
	case reflect.Struct:
		made := &schema{Type: "object", Properties: map[string]*schema{}}
		for _, field := range reflect.VisibleFields(t) {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			made.Properties[name] = schemaOf(field.Type)
			if !strings.Contains(options, "omitempty") {
				made.Required = append(made.Required, name)
			}
		}
		return made
	default:
		return &schema{Type: "integer"}
	}
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const mergeKey = "<<"

// maxAliases bounds how many aliases in a row are looked through.
const maxAliases = 10

func newReader(data []byte) io.Reader { return bytes.NewReader(data) }

// jsonTree builds the node tree of well-formed JSON, with positions relative to
// data.
func jsonTree(data []byte) *yaml.Node {
	b := jsonTreeBuilder{
		decoder: json.NewDecoder(newReader(data)), data: data,
		at: Position{Line: 1, Column: 1},
	}
	b.decoder.UseNumber()
	return b.value()
}

type jsonTreeBuilder struct {
	decoder *json.Decoder
	data    []byte
	offset  int // up to here at has been counted
	at      Position
}

// token reads a token and returns the position at which it begins.
func (b *jsonTreeBuilder) token() (json.Token, Position) {
	begin := int(b.decoder.InputOffset())
	for begin < len(b.data) && strings.IndexByte(" \t\r\n,:", b.data[begin]) >= 0 {
		begin++
	}
	b.at = advance(b.at, b.data[b.offset:begin])
	b.offset = begin
	token, err := b.decoder.Token()
	if err != nil {
		return nil, b.at
	}
	return token, b.at
}

// value reads one value with everything in it.
func (b *jsonTreeBuilder) value() *yaml.Node {
	token, at := b.token()
	node := &yaml.Node{Kind: yaml.ScalarNode, Line: at.Line, Column: at.Column}
	switch token := token.(type) {
	case string:
		node.Value = token
	case json.Delim:
		node.Kind = yaml.SequenceNode
		if token == '{' {
			node.Kind = yaml.MappingNode
		}
		for b.decoder.More() {
			node.Content = append(node.Content, b.value())
		}
		b.token()
	}
	return node
}

// find returns the node that stands for path: the key of a mapping entry, else
// the item. It stops at the last part of the path that exists.
func find(root *yaml.Node, path string) *yaml.Node {
	value := resolve(root)
	if value == nil {
		return nil
	}
	mark := value
	for path != "" {
		key, next, rest := step(value, path)
		if key == nil {
			break
		}
		mark, value, path = key, resolve(next), rest
		if value == nil {
			break
		}
	}
	return mark
}

// resolve looks through document and alias nodes.
func resolve(node *yaml.Node) *yaml.Node {
	for range maxAliases {
		switch {
		case node == nil:
			return nil
		case node.Kind == yaml.DocumentNode:
			if len(node.Content) == 0 {
				return nil
			}
			node = node.Content[0]
		case node.Kind == yaml.AliasNode:
			node = node.Alias
		default:
			return node
		}
	}
	return nil
}

// step follows the first part of path. key is the node to point at and value the
// one to go on with; key is nil if there is no such entry.
func step(node *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	path = strings.TrimPrefix(path, ".")
	switch node.Kind {
	case yaml.SequenceNode:
		inside, rest, found := bracketed(path)
		index, err := strconv.Atoi(inside)
		if !found || err != nil || index < 0 || index >= len(node.Content) {
			return nil, nil, ""
		}
		return node.Content[index], node.Content[index], rest
	case yaml.MappingNode:
		fields := fieldsOf(node)
		if inside, rest, found := bracketed(path); found {
			for _, f := range fields {
				if f.key.Value == inside {
					return f.key, f.value, rest
				}
			}
		}
		if f, found := longestKey(fields, path); found {
			return f.key, f.value, path[len(f.key.Value):]
		}
	}
	return nil, nil, ""
}

// bracketed splits "[inside]rest".
func bracketed(path string) (inside, rest string, found bool) {
	path, found = strings.CutPrefix(path, "[")
	if !found {
		return "", "", false
	}
	inside, rest, found = strings.Cut(path, "]")
	return inside, rest, found
}

// field is one entry of a mapping.
type field struct {
	key, value *yaml.Node
}

// longestKey returns the field with the longest key that path begins with. Keys
// may have dots in them, so that cutting the path at dots would not do.
func longestKey(fields []field, path string) (field, bool) {
	var longest field
	found := false
	for _, f := range fields {
		name := f.key.Value
		rest, isPrefix := strings.CutPrefix(path, name)
		if !isPrefix || name == "" || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		if !found || len(name) > len(longest.key.Value) {
			longest, found = f, true
		}
	}
	return longest, found
}

// fieldsOf returns the entries of a mapping in the order written, then those of
// mappings that it includes with "<<: *other", each mapping once.
func fieldsOf(mapping *yaml.Node) []field {
	var fields []field
	seen := map[*yaml.Node]bool{mapping: true}
	for queue := []*yaml.Node{mapping}; len(queue) > 0; queue = queue[1:] {
		content := queue[0].Content
		for i := 0; i+1 < len(content); i += 2 {
			fields = append(fields, field{key: content[i], value: content[i+1]})
			if content[i].Value != mergeKey {
				continue
			}
			for _, merged := range mergedMappings(content[i+1]) {
				if !seen[merged] {
					seen[merged] = true
					queue = append(queue, merged)
				}
			}
		}
	}
	return fields
}

// mergedMappings returns the mappings that the value of a merge key includes.
func mergedMappings(value *yaml.Node) []*yaml.Node {
	value = resolve(value)
	if value == nil {
		return nil
	}
	candidates := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		candidates = value.Content
	}
	var mappings []*yaml.Node
	for _, candidate := range candidates {
		if candidate = resolve(candidate); candidate != nil && candidate.Kind == yaml.MappingNode {
			mappings = append(mappings, candidate)
		}
	}
	return mappings
}

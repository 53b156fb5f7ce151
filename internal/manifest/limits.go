// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"io"
	"math"
	"os"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// The limits of what is read. Text beyond them is refused before it is parsed, because parsing it could take any amount
// of time or memory. What an API server holds is far below all of them.
const (
	// MaxFileSize is how many bytes a file may have.
	MaxFileSize = 1 << 30
	// MaxObjectSize is how many bytes of JSON an object may have: an API server reads no longer request. Documents may
	// be longer, because a document can be a list of objects; it is for callers to check objects.
	MaxObjectSize = 3 << 20
	// MaxDepth is how deep lists and mappings may be nested.
	MaxDepth = 500
	// MaxAliasGrowth is by how many bytes the aliases of a YAML document may lengthen it.
	MaxAliasGrowth = 16 << 20
	// MaxQuantityDigits is how many digits the number of a quantity may have in a row.
	MaxQuantityDigits = 100
	// MaxQuantityExponent is the highest exponent, by absolute value, that a quantity may have.
	MaxQuantityExponent = 999
)

// Read reads a text to its end. name is only used in messages. A text longer than limit is an error, so that one without
// an end, such as a device, is refused too.
func Read(name string, from io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, &Error{File: name, Message: fmt.Sprintf("longer than %d bytes", limit)}
	}
	return data, nil
}

// ReadFile reads a file to its end. An error of the operating system is returned unchanged; a file longer than limit is
// an error too.
func ReadFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().IsRegular() && info.Size() <= limit {
		return os.ReadFile(path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // nothing was written
	return Read(path, file, limit)
}

// checkDepth refuses a document whose JSON is nested too deeply.
func (d *Document) checkDepth(data []byte) error {
	offset := tooDeep(data)
	if offset < 0 {
		return nil
	}
	at := Position{Line: d.Line, Column: d.column}
	if d.isJSON {
		at = advance(at, data[:offset])
	} else if node := nodeAtDepth(resolve(d.tree()), MaxDepth+1); node != nil {
		at = d.fromStart(node.Line, node.Column)
	}
	return &Error{
		File: d.File, Line: at.Line, Column: at.Column,
		Message: fmt.Sprintf("nested deeper than %d lists and mappings", MaxDepth),
	}
}

// tooDeep returns where well-formed JSON gets deeper than is allowed, -1 if it does not.
func tooDeep(data []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

// nodeAtDepth returns the first list or mapping at a depth, counted from 1; nil if there is none.
func nodeAtDepth(node *yaml.Node, depth int) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode && node.Kind != yaml.SequenceNode {
		return nil
	}
	if depth == 1 {
		return node
	}
	for _, inner := range node.Content {
		if found := nodeAtDepth(inner, depth-1); found != nil {
			return found
		}
	}
	return nil
}

// checkAliases refuses a document that gets too long when its aliases are replaced by what they stand for.
func (d *Document) checkAliases() error {
	if d.isJSON || !mayHaveAliases(d.Raw) {
		return nil
	}
	root := d.tree()
	if root == nil {
		return nil // not well-formed, which the conversion reports
	}
	s := aliasSizes{known: map[*yaml.Node]int64{}}
	s.add(root)
	if s.tooLong == nil {
		return nil
	}
	at := d.fromStart(s.tooLong.Line, s.tooLong.Column)
	return &Error{
		File: d.File, Line: at.Line, Column: at.Column,
		Message: fmt.Sprintf("alias *%s: aliases lengthen the document by more than %d bytes", s.tooLong.Value, MaxAliasGrowth),
	}
}

// mayHaveAliases reports whether a text has something like an anchor and something like an alias.
func mayHaveAliases(text []byte) bool {
	return regexp.MustCompile(`(?:^|[\s,\[{:?-])&[0-9A-Za-z_-]`).Match(text) &&
		regexp.MustCompile(`(?:^|[\s,\[{:?-])\*[0-9A-Za-z_-]`).Match(text)
}

// aliasSizes adds up how much longer aliases make a document.
type aliasSizes struct {
	growth  int64
	tooLong *yaml.Node // the alias with which it gets too much; nil if it does not
	// known has the sizes of nodes that aliases stand for, with everything in them; 0 while one is added up.
	known map[*yaml.Node]int64
}

// add adds the aliases in a node to the growth.
func (s *aliasSizes) add(node *yaml.Node) {
	if node.Kind == yaml.AliasNode && s.tooLong == nil {
		if s.growth = saturated(s.growth, s.size(node.Alias)); s.growth > MaxAliasGrowth {
			s.tooLong = node
		}
	}
	for _, inner := range node.Content {
		s.add(inner)
	}
}

// size returns about how many bytes of JSON a node comes to.
func (s *aliasSizes) size(node *yaml.Node) int64 {
	if node == nil {
		return 0
	}
	if size, found := s.known[node]; found {
		return size // a node within itself is refused by the conversion
	}
	s.known[node] = 0
	size := int64(len(node.Value)) + 4
	if node.Kind == yaml.AliasNode {
		size = saturated(size, s.size(node.Alias))
	}
	for _, inner := range node.Content {
		size = saturated(size, s.size(inner))
	}
	s.known[node] = size
	return size
}

// saturated adds without overflowing.
func saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

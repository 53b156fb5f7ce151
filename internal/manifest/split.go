// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Load reads a file of up to MaxFileSize bytes and splits it into documents. An error of the operating
// system is returned unchanged; see Split for the others.
func Load(path string) ([]*Document, error) {
	data, err := ReadFile(path, MaxFileSize)
	if err != nil {
		return nil, err
	}
	return Split(path, data)
}

// Split cuts text into its documents: YAML separated by "---" lines, JSON objects
// one after the other, or a mixture. file is only used in messages. The documents
// keep referring to data, which must not be changed afterwards.
//
// Split checks that data is UTF-8 text and has at least one document (else the
// error wraps ErrEmpty). Whether a document is well-formed shows when it is used,
// so that one broken document does not hide the others. Documents of nothing but
// comments are left out.
func Split(file string, data []byte) ([]*Document, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if err := checkText(file, data); err != nil {
		return nil, err
	}
	s := splitter{file: file}
	s.split(data)
	if len(s.documents) == 0 {
		message := "the file is empty"
		if len(bytes.TrimSpace(data)) > 0 {
			message = "the file has no document, only comments or separators"
		}
		return nil, &Error{File: file, Message: message, Err: ErrEmpty}
	}
	return s.documents, nil
}

// checkText refuses what cannot be YAML or JSON at all.
func checkText(file string, data []byte) error {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return &Error{File: file, Message: "the file is UTF-16 text; save it as UTF-8"}
	}
	bad := bytes.IndexByte(data, 0)
	if !utf8.Valid(data) {
		first := firstInvalid(data)
		if bad < 0 || first < bad {
			bad = first
		}
	}
	if bad < 0 {
		return nil
	}
	at := advance(Position{Line: 1, Column: 1}, data[:bad])
	return &Error{
		File: file, Line: at.Line, Column: at.Column,
		Message: fmt.Sprintf("not a text file: byte 0x%02x is not allowed in UTF-8 YAML or JSON", data[bad]),
	}
}

func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// advance returns the position after text that begins at from.
func advance(from Position, text []byte) Position {
	lines := bytes.Count(text, []byte{'\n'})
	if lines == 0 {
		return Position{Line: from.Line, Column: from.Column + utf8.RuneCount(text)}
	}
	last := text[bytes.LastIndexByte(text, '\n')+1:]
	return Position{Line: from.Line + lines, Column: 1 + utf8.RuneCount(last)}
}

type splitter struct {
	file      string
	documents []*Document
}

// split walks over the lines and hands the text between separators to chunk.
func (s *splitter) split(data []byte) {
	start, startAt := 0, Position{Line: 1, Column: 1}
	line := 1
	for offset := 0; offset < len(data); line++ {
		next := len(data)
		if i := bytes.IndexByte(data[offset:], '\n'); i >= 0 {
			next = offset + i + 1
		}
		switch text := data[offset:next]; {
		case isMarker(text, "---"):
			s.chunk(data[start:offset], startAt, true)
			start, startAt = offset+len("---"), Position{Line: line, Column: 1 + len("---")}
			if blankPrefix(data[start:next]) == next-start {
				start, startAt = next, Position{Line: line + 1, Column: 1}
			}
		case isMarker(text, "..."):
			s.chunk(data[start:offset], startAt, false)
			start, startAt = next, Position{Line: line + 1, Column: 1}
		}
		offset = next
	}
	s.chunk(data[start:], startAt, false)
}

// isMarker reports whether the line is the marker, alone or followed by a blank.
func isMarker(line []byte, marker string) bool {
	rest, found := bytes.CutPrefix(line, []byte(marker))
	return found && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// chunk takes the text between two separators. Text that begins with a JSON
// object may hold several; everything else is one YAML document.
func (s *splitter) chunk(text []byte, at Position, separatorFollows bool) {
	if separatorFollows && onlyDirectives(text) {
		return
	}
	for {
		blank := blankPrefix(text)
		if blank == len(text) {
			return
		}
		length, isJSON := objectLength(text[blank:])
		if length == 0 {
			s.add(text, at, false)
			return
		}
		at = advance(at, text[:blank])
		object, rest := text[blank:blank+length], text[blank+length:]
		s.add(object, at, isJSON)
		at, text = advance(at, object), rest
	}
}

// objectLength returns the length of the JSON object that text begins with and
// whether it is well-formed. A broken object is cut off only if it is plain where
// it ends: it starts as JSON does and another object or nothing follows. The length
// is 0 if text has to be taken as YAML.
func objectLength(text []byte) (length int, isJSON bool) {
	if text[0] != '{' {
		return 0, false
	}
	end := objectEnd(text)
	if end < 0 {
		return 0, false
	}
	if json.Valid(text[:end]) {
		return end, true
	}
	rest := text[end:]
	rest = rest[blankPrefix(rest):]
	if looksLikeJSON(text) && (len(rest) == 0 || rest[0] == '{') {
		return end, false
	}
	return 0, false
}

// looksLikeJSON reports whether text begins like a JSON object: a brace, then a
// quoted key.
func looksLikeJSON(text []byte) bool {
	rest, found := bytes.CutPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
	return found && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(`"`))
}

func (s *splitter) add(text []byte, at Position, isJSON bool) {
	s.documents = append(s.documents, &Document{
		File: s.file, Index: len(s.documents), Line: at.Line, Raw: text,
		column: at.Column, isJSON: isJSON,
	})
}

// blankPrefix is the length of the white space and comments that text begins with.
func blankPrefix(text []byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t', '\r', '\n':
		case '#':
			newline := bytes.IndexByte(text[i:], '\n')
			if newline < 0 {
				return len(text)
			}
			i += newline
		default:
			return i
		}
	}
	return len(text)
}

// onlyDirectives reports whether text has nothing but "%YAML" style directives,
// comments and white space.
func onlyDirectives(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// objectEnd returns the length of the object that text begins with, going by
// braces and double quoted strings, or -1 if it does not end.
func objectEnd(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

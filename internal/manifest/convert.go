// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamltree "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// conversion is a document as JSON, with what the conversion found wrong.
type conversion struct {
	json       []byte
	duplicates ErrorList // keys given twice; json has one of the values
	err        error     // set if the text is not well-formed; json is nil then
}

// convert turns YAML into JSON.
func (d *Document) convert() conversion {
	if err := d.checkAliases(); err != nil {
		return conversion{err: err}
	}
	data, strictErr := recoverPanic(func() ([]byte, error) { return yaml.YAMLToJSONStrict(d.Raw) })
	if strictErr == nil {
		return conversion{json: data}
	}
	data, err := recoverPanic(func() ([]byte, error) { return yaml.YAMLToJSON(d.Raw) })
	if err != nil {
		return conversion{err: d.syntaxError(err)}
	}
	result := conversion{json: data, duplicates: d.duplicateKeys()}
	if len(result.duplicates) == 0 {
		result.duplicates.Add(d.yamlError(strictErr))
	}
	return result
}

// syntaxError says where the text stops being YAML or JSON.
func (d *Document) syntaxError(conversionErr error) error {
	if looksLikeJSON(d.Raw) {
		var value any
		var syntax *json.SyntaxError
		if err := json.Unmarshal(d.Raw, &value); errors.As(err, &syntax) {
			offset := max(0, min(int(syntax.Offset)-1, len(d.Raw)))
			at := advance(Position{Line: d.Line, Column: d.column}, d.Raw[:offset])
			return &Error{
				File: d.File, Line: at.Line, Column: at.Column,
				Message: "not well-formed JSON: " + strings.TrimPrefix(syntax.Error(), "json: "), Err: syntax,
			}
		}
	}
	if _, err := parseYAML(d.Raw); err != nil {
		return d.yamlError(err)
	}
	return d.yamlError(conversionErr)
}

// yamlError turns an error of a YAML library, which counts lines from the start
// of the text, into one with the line of the file.
func (d *Document) yamlError(err error) error {
	line, message := splitYAMLMessage(err.Error())
	result := &Error{File: d.File, Line: d.Line, Message: "not well-formed YAML: " + message, Err: err}
	if line > 0 {
		result.Line = d.fromStart(line, 0).Line
		last := advance(Position{Line: d.Line, Column: d.column}, bytes.TrimRight(d.Raw, " \t\r\n"))
		if result.Line >= last.Line {
			result.Line = last.Line
			result.Message += " (the document ends here; is it complete?)"
		}
	}
	return result
}

// splitYAMLMessage takes the line number out of a message such as
// "yaml: line 3: did not find expected key"; the line is 0 if there is none.
func splitYAMLMessage(text string) (line int, message string) {
	text = strings.TrimPrefix(text, "yaml: ")
	text = strings.TrimSpace(strings.TrimPrefix(text, "unmarshal errors:"))
	match := regexp.MustCompile(`(?s)^line (\d+): (.*)$`).FindStringSubmatch(text)
	if match == nil {
		return 0, text
	}
	line, err := strconv.Atoi(match[1])
	if err != nil {
		return 0, text
	}
	if slices.Contains(messagesCountedFromZero(), match[2]) {
		line++
	}
	return line, match[2]
}

// messagesCountedFromZero lists the messages with which the YAML library gives a line that is one too small: those that
// its parser has for words in the wrong order. What is no word at all is found by its scanner, which counts from one.
func messagesCountedFromZero() []string {
	return []string{
		"did not find expected <stream-start>", "did not find expected <document start>",
		"did not find expected node content", "did not find expected '-' indicator", "did not find expected key",
		"did not find expected ',' or ']'", "did not find expected ',' or '}'",
		"found undefined tag handle", "found duplicate %YAML directive", "found duplicate %TAG directive",
		"found incompatible YAML document",
	}
}

// parseYAML builds the node tree of one YAML document.
func parseYAML(text []byte) (*yamltree.Node, error) {
	return recoverPanic(func() (*yamltree.Node, error) {
		var root yamltree.Node
		if err := yamltree.Unmarshal(text, &root); err != nil {
			return nil, err
		}
		return &root, nil
	})
}

// recoverPanic turns a panic of a YAML library into an error.
func recoverPanic[T any](parse func() (T, error)) (result T, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("yaml: the text cannot be read: %v", cause)
		}
	}()
	return parse()
}

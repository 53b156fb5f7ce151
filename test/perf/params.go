// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"
)

// params are the values that a size gives to the $parameters of its test case.
type params map[string]any

// value resolves $name, and $name|otherwise, where nothing behind the bar is nil. Everything else stands for itself.
func (p params) value(of any) (any, error) {
	text, ok := of.(string)
	if !ok || !strings.HasPrefix(text, "$") {
		return of, nil
	}
	name, otherwise, hasDefault := strings.Cut(text[1:], "|")
	value, found := p[name]
	switch {
	case found && (value != nil || !hasDefault):
		return value, nil
	case !hasDefault:
		return nil, fmt.Errorf("the workload has no parameter %s", name)
	case otherwise == "":
		return nil, nil
	}
	return otherwise, nil
}

// values resolves the values of a map.
func (p params) values(of map[string]any) (map[string]any, error) {
	resolved := map[string]any{}
	for name, text := range of {
		value, err := p.value(text)
		if err != nil {
			return nil, err
		}
		resolved[name] = value
	}
	return resolved, nil
}

// integer returns a parameter that must be a whole number, or the other value if no parameter is named.
func (p params) integer(name string, otherwise int) (int, error) {
	if name == "" {
		return otherwise, nil
	}
	value, err := p.value(name)
	if err != nil {
		return 0, err
	}
	number, ok := value.(float64)
	if !ok || number != float64(int(number)) || number < 0 {
		return 0, fmt.Errorf("parameter %s is %v, which is no whole number from zero up", name, value)
	}
	return int(number), nil
}

// boolean returns a parameter that must be true or false; false if no parameter is named.
func (p params) boolean(name string) (bool, error) {
	if name == "" {
		return false, nil
	}
	value, err := p.value(name)
	if err != nil {
		return false, err
	}
	is, ok := value.(bool)
	if !ok {
		return false, fmt.Errorf("parameter %s is %v, which is neither true nor false", name, value)
	}
	return is, nil
}

// duration returns a parameter that must be a duration; zero if no parameter is named.
func (p params) duration(name string) (time.Duration, error) {
	if name == "" {
		return 0, nil
	}
	value, err := p.value(name)
	if err != nil {
		return 0, err
	}
	text, _ := value.(string)
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("parameter %s: %w", name, err)
	}
	return d, nil
}

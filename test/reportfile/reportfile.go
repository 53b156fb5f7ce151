// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reportfile keeps the reports of measurements in files of JSON.
package reportfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Read reads a report, whose field "format" must have the given value. The error wraps fs.ErrNotExist if there is no file.
func Read[T any](name, format string) (*T, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading a report: %w", err)
	}
	var header struct {
		Format string `json:"format"`
	}
	var report T
	if err := errors.Join(json.Unmarshal(data, &header), json.Unmarshal(data, &report)); err != nil {
		return nil, fmt.Errorf("reading the report in %s: %w", name, err)
	}
	if header.Format != format {
		return nil, fmt.Errorf("reading the report in %s: its format is %q, not %q", name, header.Format, format)
	}
	return &report, nil
}

// Write replaces the report in a file as a whole, so that there always is one that can be read.
func Write(name string, report any) error {
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	defer os.Remove(file.Name()) // unless it has been renamed
	_, err = file.Write(append(data, '\n'))
	if err = errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := os.Rename(file.Name(), name); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strconv"
	"strings"
)

// cell is a field of a table.
type cell struct {
	text  string
	color color
}

// table draws aligned columns, two blanks apart. The last column may be folded to the width of the style.
type table struct {
	indent string
	header []string
	right  map[int]bool // columns of numbers
	rows   [][]cell
}

// cells adds a row.
func (t *table) cells(cells ...cell) { t.rows = append(t.rows, cells) }

// draw writes the table. Without rows nothing is written, not even the header.
func (t *table) draw(b *strings.Builder, style Style) {
	if len(t.rows) == 0 {
		return
	}
	widths := t.widths()
	if len(t.header) > 0 {
		cells := make([]cell, len(t.header))
		for i, name := range t.header {
			cells[i] = cell{name, bold}
		}
		t.drawRow(b, style, widths, cells)
	}
	for _, row := range t.rows {
		t.drawRow(b, style, widths, row)
	}
}

func (t *table) widths() []int {
	widths := make([]int, len(t.header))
	for i, name := range t.header {
		widths[i] = columns(name)
	}
	for _, row := range t.rows {
		for i, field := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], columns(field.text))
		}
	}
	return widths
}

func (t *table) drawRow(b *strings.Builder, style Style, widths []int, row []cell) {
	line, drawn := t.indent, columns(t.indent)
	last := len(row) - 1
	for i, field := range row[:last] {
		padded := padRight(field.text, widths[i])
		if t.right[i] {
			padded = padLeft(field.text, widths[i])
		}
		line += style.paint(field.color, padded) + "  "
		drawn += widths[i] + 2
	}
	text := row[last].text
	if t.right[last] {
		text = padLeft(text, widths[last])
	}
	lines := []string{text}
	if style.Width > 0 && drawn+columns(text) > style.Width {
		words := strings.Fields(text)
		if room := style.Width - drawn; longest(words) <= room {
			lines = fold(words, room)
		} else { // below the row, as the column is too narrow
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = t.indent + "    "
			drawn = columns(line)
			lines = fold(words, max(style.Width-drawn, 20))
		}
	}
	for i, part := range lines {
		if i > 0 {
			line = strings.Repeat(" ", drawn)
		}
		b.WriteString(strings.TrimRight(line+style.paint(row[last].color, part), " "))
		b.WriteByte('\n')
	}
}

// longest returns the columns of the longest word.
func longest(words []string) int {
	most := 0
	for _, word := range words {
		most = max(most, columns(word))
	}
	return most
}

func decimal(n int) string { return strconv.Itoa(n) }

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"unicode/utf8"
)

// Style says how text is drawn. The zero value is for files and pipes: no colour, lines as long as they come.
type Style struct {
	// Color allows ANSI colours; set it only for a terminal.
	Color bool
	// Width is the width of the terminal in columns. Wide views fold to it; zero never folds.
	Width int
	// Verbose adds what only those who know the scheduler need, such as the labels of events.
	Verbose bool
}

// color is an ANSI "select graphic rendition" parameter.
type color string

const (
	plain  color = ""
	bold   color = "1"
	dim    color = "2"
	red    color = "31"
	green  color = "32"
	yellow color = "33"
	cyan   color = "36"
)

// paint colours text if the style allows it. Blanks around the text stay as they are.
func (s Style) paint(c color, text string) string {
	if !s.Color || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// columns counts the terminal columns of a text without colours.
func columns(text string) int { return utf8.RuneCountInString(text) }

// padRight fills a text up to a width with blanks.
func padRight(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}

// padLeft is padRight for numbers.
func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(0, width-columns(text))) + text
}

// fold breaks words over lines of at most width columns; a width of zero or less gives one line. A word that is longer
// than a line gets a line of its own.
func fold(words []string, width int) []string {
	if len(words) == 0 {
		return []string{""}
	}
	lines := []string{words[0]}
	for _, word := range words[1:] {
		last := &lines[len(lines)-1]
		if width > 0 && columns(*last)+1+columns(word) > width {
			lines = append(lines, word)
			continue
		}
		*last += " " + word
	}
	return lines
}

// paragraph folds a text to the width of the style; all lines but the first are indented.
func (s Style) paragraph(text, indent string) string {
	if s.Width <= 0 {
		return text
	}
	lead := text[:len(text)-len(strings.TrimLeft(text, " "))]
	lines := fold(strings.Fields(text), max(s.Width-max(columns(indent), columns(lead)), 20))
	return lead + strings.Join(lines, "\n"+indent)
}

// count writes a number with its noun, such as "1 pod" or "3 pods".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return decimal(n) + " " + noun + "s"
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/rouse-scheduler/rouse/inspect"
)

// Explanation writes the state of the pod in a sentence, and below it the details.
func Explanation(w io.Writer, e *inspect.Explanation, style Style) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", foldStyled(style.paint(bold, "Pod "+e.Namespace+"/"+e.Name)+" "+state(e, style), style.Width))
	fmt.Fprintf(&b, "%s\n", style.paragraph(timing(e), ""))
	if message := message(e); message != "" {
		fmt.Fprintf(&b, "%s\n", style.paragraph(message, ""))
	}
	drawSuggestions(&b, style, e)
	drawRejections(&b, style, e)
	drawNodes(&b, style, e)
	drawScores(&b, style, e)
	drawRequeueEvents(&b, style, e)
	drawRecentEvents(&b, style, e)
	_, err := io.WriteString(w, b.String())
	return err
}

// foldStyled folds a text with colours, which take no columns.
func foldStyled(text string, width int) string {
	if width <= 0 {
		return text
	}
	var lines strings.Builder
	used := 0
	for i, word := range strings.Split(text, " ") {
		length := columns(ansi.ReplaceAllString(word, ""))
		switch {
		case i == 0:
		case used+1+length > width:
			lines.WriteByte('\n')
			used = 0
		default:
			lines.WriteByte(' ')
			used++
		}
		lines.WriteString(word)
		used += length
	}
	return lines.String()
}

// ansi matches what [Style] paints with.
var ansi = regexp.MustCompile(`\x1b\[[0-9]*m`)

func drawRejections(b *strings.Builder, style Style, e *inspect.Explanation) {
	if len(e.RejectedBy) == 0 {
		return
	}
	title := "Rejected by"
	switch {
	case e.RejectedAt != "" && e.Attempts > 0:
		title = fmt.Sprintf("Rejected at %s by", e.RejectedAt)
	case e.Attempts == 0 && e.Since == "": // from the objects, whatever its scheduler has seen
		title = "Rejected now by"
	}
	fmt.Fprintf(b, "\n%s\n\n", style.paint(bold, title))
	list := table{indent: "  ", header: []string{"PLUGIN", "NODES", "REASON"}, right: map[int]bool{1: true}}
	for _, rejection := range e.RejectedBy {
		name := rejection.Plugin
		if rejection.PreEnqueue {
			name += " (PreEnqueue)"
		}
		if len(rejection.Reasons) == 0 {
			list.cells(cell{name, cyan}, nodesCell(rejection, rejection.Nodes), cell{"-", dim})
		}
		for i, reason := range rejection.Reasons {
			if i > 0 {
				name = ""
			}
			list.cells(cell{name, cyan}, nodesCell(rejection, reason.Nodes), cell{text: reason.Reason})
		}
	}
	list.draw(b, style)
	switch {
	case e.PostFilter != "" && e.NominatedNode != "":
		fmt.Fprintf(b, "\n%s\n", style.paragraph("  Preemption makes room on node "+e.NominatedNode+".", "    "))
	case e.PostFilter != "":
		fmt.Fprintf(b, "\n%s\n", style.paragraph("  Preemption cannot help: "+strings.TrimPrefix(e.PostFilter, "preemption: "), "    "))
	}
}

func nodesCell(rejection inspect.Rejection, nodes int) cell {
	if rejection.PreEnqueue {
		return cell{"-", dim}
	}
	return cell{text: decimal(nodes)}
}

func drawNodes(b *strings.Builder, style Style, e *inspect.Explanation) {
	if e.ProbeError != "" {
		fmt.Fprintf(b, "\n%s\n", style.paragraph("The blockers are not known: "+oneLine(e.ProbeError), "  "))
	}
	if len(e.Everywhere) > 0 {
		fmt.Fprintf(b, "\n%s\n\n", style.paint(bold, "Blockers on every node"))
		drawBlockers(b, style, "  ", e.Everywhere)
	}
	if len(e.Nodes) == 0 {
		return
	}
	title := "The closest nodes"
	if len(e.Nodes) < e.AllNodes {
		title = fmt.Sprintf("The closest %d of %d nodes", len(e.Nodes), e.AllNodes)
	}
	fmt.Fprintf(b, "\n%s\n", style.paint(bold, title))
	for _, node := range e.Nodes {
		summary := count(node.BlockerCount, "blocker")
		switch {
		case node.BlockerCount == 0 && len(e.Everywhere) > 0:
			summary = "no other blockers"
		case node.BlockerCount == 0:
			summary = "feasible now"
		}
		fmt.Fprintf(b, "\n  %s  %s\n", style.paint(cyan, node.Name), style.paint(dim, summary))
		drawBlockers(b, style, "    ", node.Blockers)
	}
}

// drawBlockers writes what is known in detail, or else the reasons of the plugins.
func drawBlockers(b *strings.Builder, style Style, indent string, blockers []inspect.Blocker) {
	list := table{indent: indent}
	for _, blocker := range blockers {
		lines := blocker.Details
		if len(lines) == 0 {
			lines = []string{blocker.Reason}
		}
		name := blocker.Plugin
		for i, line := range slices.Clone(lines) {
			if i > 0 {
				name = ""
			}
			list.cells(cell{text: name}, cell{line, yellow})
		}
	}
	list.draw(b, style)
}

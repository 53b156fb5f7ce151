// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import (
	"slices"
	"strconv"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
)

// maxStatuses is how many different rejections are kept before everything known is dropped. Plugins give few different
// reasons; one that names the node in each makes a new one for every node.
const maxStatuses = 1 << 16

// StatusTable numbers rejections, so that a verdict is a small number. The zero value is empty.
type StatusTable struct {
	Statuses  []*fwk.Status // by Verdict minus FirstRejection
	byPointer map[*fwk.Status]Verdict
	byContent map[string]Verdict
}

// Number returns the number of a plugin's rejection, the same one for equal rejections. The status remains the plugin's: it may
// share it between nodes and pods, and change it later.
func (t *StatusTable) Number(status *fwk.Status, plugin string) Verdict {
	if v, ok := t.byPointer[status]; ok && t.shows(v, status, plugin) {
		return v
	}
	content := plugin + "\x00" + strconv.Itoa(int(status.Code())) + "\x00" + strings.Join(status.Reasons(), "\x00")
	v, ok := t.byContent[content]
	if !ok {
		if t.byContent == nil {
			t.byContent, t.byPointer = map[string]Verdict{}, map[*fwk.Status]Verdict{}
		}
		v = FirstRejection + Verdict(len(t.Statuses))
		t.Statuses = append(t.Statuses, status.Clone().WithPlugin(plugin))
		t.byContent[content] = v
		t.byPointer[status] = v
	}
	return v
}

// shows reports whether a rejection in the table is that of the plugin.
func (t *StatusTable) shows(v Verdict, status *fwk.Status, plugin string) bool {
	known := t.Status(v)
	return known.Plugin() == plugin && known.Code() == status.Code() && slices.Equal(known.Reasons(), status.Reasons())
}

// Status returns a rejection by its number.
func (t *StatusTable) Status(v Verdict) *fwk.Status { return t.Statuses[v-FirstRejection] }

// Full reports whether so many rejections are in the table that whoever uses it should start again with an empty one.
func (t *StatusTable) Full() bool { return len(t.Statuses) >= maxStatuses }

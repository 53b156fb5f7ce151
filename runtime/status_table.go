// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
)

// maxStatuses is how many different rejections are kept before everything known is dropped. Plugins give few different
// reasons; one that names the node in each makes a new one for every node.
const maxStatuses = 1 << 16

// statusTable numbers rejections, so that a verdict is a small number. The zero value is empty.
type statusTable struct {
	statuses  []*fwk.Status // by verdict minus firstRejection
	byPointer map[*fwk.Status]verdict
	byContent map[string]verdict
}

// number returns the number of a plugin's rejection, the same one for equal rejections.
func (t *statusTable) number(status *fwk.Status, plugin string) verdict {
	if v, ok := t.byPointer[status]; ok && t.status(v).Plugin() == plugin {
		return v
	}
	content := plugin + "\x00" + codeName(status.Code()) + "\x00" + strings.Join(status.Reasons(), "\x00")
	v, ok := t.byContent[content]
	if !ok {
		if t.byContent == nil {
			t.byContent, t.byPointer = map[string]verdict{}, map[*fwk.Status]verdict{}
		}
		v = firstRejection + verdict(len(t.statuses))
		t.statuses = append(t.statuses, named(status, plugin))
		t.byContent[content] = v
		t.byPointer[status] = v
	}
	return v
}

// status returns a rejection by its number.
func (t *statusTable) status(v verdict) *fwk.Status { return t.statuses[v-firstRejection] }

func (t *statusTable) full() bool { return len(t.statuses) >= maxStatuses }

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// CorruptedError reports that an event contradicts what the cache knew: a pod is on another node than every earlier
// event said. The node of a pod never changes, so events were lost or an informer is at fault, and decisions taken
// since then may have been wrong. The cache has followed the event and stays usable; a process that would rather start
// afresh can find this error with errors.As and exit.
type CorruptedError struct {
	// Operation is what the event did to the pod: "updated" or "removed".
	Operation string
	// Pod and UID say which pod it was.
	Pod klog.ObjectRef
	UID types.UID
	// KnownNode is the node that the cache had the pod on, ReportedNode the one in the event, which may be empty.
	KnownNode    string
	ReportedNode string
}

// Error implements error.
func (e *CorruptedError) Error() string {
	return fmt.Sprintf("scheduler cache is corrupted and can badly affect scheduling decisions: pod %v(%v) was on node %q and is now %s on node %q; the cache has followed, restart the scheduler if this repeats",
		e.UID, e.Pod, e.KnownNode, e.Operation, e.ReportedNode)
}

// nodeContradiction returns a CorruptedError if the reported pod is on another node than the cache knows, else nil.
func nodeContradiction(operation string, known *podState, reported *v1.Pod) error {
	if known.node.name == reported.Spec.NodeName {
		return nil
	}
	return &CorruptedError{
		Operation:    operation,
		Pod:          klog.KObj(reported),
		UID:          reported.UID,
		KnownNode:    known.node.name,
		ReportedNode: reported.Spec.NodeName,
	}
}

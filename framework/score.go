// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// DefaultNormalizeScore stretches raw scores of zero and more to the range from 0 to maxScore, in place, so that the
// highest becomes maxScore; reverse makes the highest raw score the worst. When all are zero they stay zero, or become
// maxScore if reversed. It always succeeds, and has the shape of ScoreExtensions.NormalizeScore.
func DefaultNormalizeScore(maxScore int64, reverse bool, scores fwk.NodeScoreList) *fwk.Status {
	var highest int64
	for i := range scores {
		highest = max(highest, scores[i].Score)
	}
	for i := range scores {
		score := &scores[i].Score
		switch {
		case highest > 0 && reverse:
			*score = maxScore - maxScore**score/highest
		case highest > 0:
			*score = maxScore * *score / highest
		case reverse:
			*score = maxScore
		}
	}
	return nil
}

// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package pluginargs_test

import (
	"strings"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
)

func TestInformers(t *testing.T) {
	factory := fixture.Informers(t)
	got, err := pluginargs.Informers("VolumeZone", "PersistentVolumeClaims", &fixture.Handle{Informers: factory})
	if err != nil || got != factory {
		t.Errorf("got %v and error %v, want the factory of the handle", got, err)
	}
	for name, handle := range map[string]fwk.Handle{"no handle": nil, "no factory": &fixture.Handle{}} {
		_, err := pluginargs.Informers("VolumeZone", "PersistentVolumeClaims", handle)
		if err == nil || !strings.HasPrefix(err.Error(), "plugin VolumeZone reads PersistentVolumeClaims and needs an informer factory: ") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

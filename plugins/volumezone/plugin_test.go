// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumezone

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const (
	betaZone   = "failure-domain.beta.kubernetes.io/zone"
	betaRegion = "failure-domain.beta.kubernetes.io/region"
	zone       = "topology.kubernetes.io/zone"
	region     = "topology.kubernetes.io/region"
)

func newPlugin(tb testing.TB, objects ...apiruntime.Object) *plugin {
	tb.Helper()
	built, err := New(tb.Context(), nil, &fixture.Handle{Informers: fixture.Informers(tb, objects...)})
	if err != nil {
		tb.Fatal(err)
	}
	return built.(*plugin)
}

func TestNewWithoutInformers(t *testing.T) {
	_, err := New(t.Context(), nil, &fixture.Handle{})
	if err == nil || !strings.Contains(err.Error(), "InformerFactory") {
		t.Errorf("got error %v, want one that says what to set", err)
	}
}

// labels turns pairs of a label and a value into a map.
func labels(pairs ...string) map[string]string {
	set := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		set[pairs[i]] = pairs[i+1]
	}
	return set
}

// volumeIn returns a volume with the given labels.
func volumeIn(name string, pairs ...string) *v1.PersistentVolume {
	return objects.PersistentVolume(name).With(func(volume *v1.PersistentVolume) { volume.Labels = labels(pairs...) }).Build()
}

func claiming(claims ...string) *v1.Pod {
	return objects.Pod("p").PersistentVolumeClaim(claims...).Build()
}

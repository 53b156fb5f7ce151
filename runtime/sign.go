// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// collectSigners collects the plugins that make up a pod's signature. Pods are signed only if everything that looks at
// nodes for them signs what it reads of the pod, which extenders cannot.
func (f *Framework) collectSigners() {
	looking := map[string]fwk.Plugin{}
	collect(looking, f.preFilter)
	collect(looking, f.filter)
	collect(looking, f.preScore)
	collect(looking, f.score)
	var unsigned []string
	for _, name := range slices.Sorted(maps.Keys(looking)) {
		if signer, ok := looking[name].(fwk.SignPlugin); ok {
			f.signers = append(f.signers, member[fwk.SignPlugin]{identity: *f.identities[name], plugin: signer})
		} else {
			unsigned = append(unsigned, name)
		}
	}
	f.signsPods = len(unsigned) == 0 && len(f.options.Extenders) == 0
	if !f.signsPods {
		f.options.Logger.V(1).Info("Pods are not signed", "profile", f.ProfileName(),
			"pluginsWithoutSignature", unsigned, "extenders", len(f.options.Extenders))
	}
}

func collect[P fwk.Plugin](into map[string]fwk.Plugin, plugins stage[P]) {
	for _, plugin := range plugins {
		into[plugin.name] = plugin.plugin
	}
}

// SignPod implements fwk.Handle: pods with the same signature fit the same nodes, and score the same there. It is nil
// for a pod that some plugin does not sign, and for every pod if a plugin cannot, or there are extenders.
func (f *Framework) SignPod(ctx context.Context, pod *v1.Pod) fwk.PodSignature {
	if !f.signsPods {
		return nil
	}
	if metrics := f.options.Metrics; metrics != nil {
		start := f.options.Execution.Clock.Now()
		defer func() {
			duration := f.options.Execution.Clock.Since(start)
			metrics.ExtensionPointDuration(MethodSign, codeName(fwk.Success), f.ProfileName(), duration)
		}()
	}
	fragments := map[string]any{fwk.SchedulerNameSignerName: f.ProfileName()}
	for _, signer := range f.signers {
		if !f.addFragments(ctx, signer.plugin, pod, fragments) {
			return nil
		}
	}
	signature, err := json.Marshal(fragments)
	if err != nil {
		f.options.Logger.Error(err, "Writing the signature of a pod failed", "pod", klog.KObj(pod))
		return nil
	}
	return signature
}

// HintClass puts pods that a plugin's queueing hints treat alike into one class. A plugin decides for itself by
// implementing [framework.HintClassPlugin]; for others the class is what the plugin signs of the pod. Unless it has a filter
// key, it signs for pods of one controller, as kube-scheduler uses signatures: the namespace is added, without which the
// claims of fwk.VolumesSigner are ambiguous, and pods with ports of fwk.HostPortsSigner, which leaves addresses and protocols
// out, are in no class. The result is false for a pod whose hints must be run for it alone, and for a plugin that the profile does not have.
func (f *Framework) HintClass(ctx context.Context, name string, pod *v1.Pod) (class string, ok bool) {
	switch plugin := f.Plugin(name).(type) {
	case framework.HintClassPlugin:
		err := f.callOwn(MethodHintClass, name, pod, func() { class, ok = plugin.HintClass(pod) })
		return class, ok && err == nil // which is in the log
	case fwk.SignPlugin:
		fragments := map[string]any{}
		if !f.addFragments(ctx, plugin, pod, fragments) {
			return "", false
		}
		if _, keyed := plugin.(framework.FilterKeyPlugin); !keyed {
			if _, ports := fragments[fwk.HostPortsSignerName]; ports {
				return "", false
			}
			fragments["namespace"] = pod.Namespace
		}
		signed, err := json.Marshal(fragments) // sorts the keys
		return string(signed), err == nil
	}
	return "", false
}

// addFragments adds what a plugin signs of a pod. It returns false if the plugin does not sign this one.
func (f *Framework) addFragments(ctx context.Context, plugin fwk.SignPlugin, pod *v1.Pod, fragments map[string]any) bool {
	signed, status := f.signPod(ctx, plugin, pod)
	if status.IsError() {
		f.options.Logger.Error(status.AsError(), "Signing a pod failed", "plugin", plugin.Name(), "pod", klog.KObj(pod))
	}
	if !status.IsSuccess() {
		return false
	}
	for _, fragment := range signed {
		fragments[fragment.Key] = fragment.Value
	}
	return true
}

func (f *Framework) signPod(ctx context.Context, plugin fwk.SignPlugin, pod *v1.Pod) (fragments []fwk.SignFragment, status *fwk.Status) {
	err := f.callOwn(MethodSign, plugin.Name(), pod, func() { fragments, status = plugin.SignPod(ctx, pod) })
	if err != nil {
		return nil, fwk.AsStatus(err).WithPlugin(plugin.Name())
	}
	return fragments, status
}

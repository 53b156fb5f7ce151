// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// redactor replaces names, so that a snapshot can be given away: the same name is always replaced by the same one, and decisions
// of plugins about the objects stay what they are, but for ties, which names break. Names of drivers, resources, schedulers and
// device attributes stay, and so do labels of Kubernetes whose values are not names.
type redactor struct{ key []byte }

func newRedactor(key []byte) *redactor { return &redactor{key} }

// word returns what stands for a word.
func (r *redactor) word(word string) string {
	kept := word == "" || word == "default" || strings.HasPrefix(word, "kube-") || strings.HasPrefix(word, "system-")
	if kept {
		return word
	}
	sum := hmac.New(sha256.New, r.key)
	sum.Write([]byte(word))
	return "r" + hex.EncodeToString(sum.Sum(nil)[:8])
}

// label returns what stands for the key of a label or taint.
func (r *redactor) label(key string) string {
	prefix, _, qualified := strings.Cut(key, "/")
	if qualified && (prefix == "kubernetes.io" || strings.HasSuffix(prefix, ".kubernetes.io")) || strings.HasPrefix(key, "metadata.") {
		return key
	}
	return r.word(key)
}

// value returns what stands for the value of a label or taint.
func (r *redactor) value(key, value string) string {
	if _, err := strconv.ParseInt(value, 10, 64); err == nil { // Gt and Lt compare numbers
		return value
	}
	switch key {
	case "kubernetes.io/arch", "kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/os":
		return value
	}
	parts := strings.Split(value, "__") // several zones of a volume
	for i := range parts {
		parts[i] = r.word(parts[i])
	}
	return strings.Join(parts, "__")
}

// object redacts an object.
func (r *redactor) object(fields map[string]any) {
	if kind, _ := fields["kind"].(string); kind != "" {
		for _, part := range []string{"data", "stringData"} {
			delete(fields, part)
		}
	}
	r.fields(fields)
}

// dropped are fields that no scheduler reads and that say much about whom a cluster belongs to.
func dropped() []string {
	return []string{
		"env", "envFrom", "command", "args", "lifecycle", "livenessProbe", "readinessProbe", "startupProbe", "volumeMounts", "volumeDevices", "message",
		"hostAliases", "imagePullSecrets", "addresses", "nodeInfo", "containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses", "podIP", "podIPs",
		"hostIP", "hostIPs", "podCIDR", "podCIDRs", "providerID", "volumesInUse", "volumesAttached", "clusterIP", "clusterIPs", "externalIPs", "loadBalancer",
		"volumeAttributes", "parameters", "finalizers", "securityContext", "serviceAccount", "serviceAccountName", "hostname", "subdomain", "description",
		"nodePublishSecretRef", "nodeStageSecretRef", "controllerPublishSecretRef", "terminationMessagePath", "workingDir", "template", "config",
	}
}

// names are fields whose values are names.
func names() []string {
	return []string{
		"name", "namespace", "generateName", "nodeName", "nominatedNodeName", "claimName", "volumeName", "resourceClaimName", "resourceClaimTemplateName",
		"storageClassName", "priorityClassName", "persistentVolumeName", "volumeHandle", "pool", "device", "image", "pdName", "volumeID", "diskName", "request",
		"deviceClassName", "uid", "nodeID",
	}
}

func (r *redactor) fields(fields map[string]any) {
	for _, name := range dropped() {
		delete(fields, name)
	}
	key, _ := fields["key"].(string)
	for name, value := range fields {
		switch typed := value.(type) {
		case string:
			fields[name] = r.text(name, key, typed)
		case map[string]any:
			fields[name] = r.inMap(name, typed)
		case []any:
			r.list(name, key, typed)
		}
	}
}

func (r *redactor) text(field, key, value string) string {
	switch {
	case field == "key" || field == "topologyKey":
		return r.label(value)
	case field == "value" && key != "":
		return r.value(key, value)
	case slices.Contains(names(), field):
		return r.word(value)
	}
	return value
}

func (r *redactor) inMap(name string, fields map[string]any) map[string]any {
	switch name {
	case "labels", "matchLabels", "nodeSelector":
		if _, nested := fields["nodeSelectorTerms"]; nested { // of a volume or a device
			break
		}
		redacted := map[string]any{}
		for key, value := range fields {
			text, _ := value.(string)
			redacted[r.label(key)] = r.value(key, text)
		}
		return redacted
	case "annotations":
		kept := map[string]any{}
		for key, value := range fields {
			if prefix, _, _ := strings.Cut(key, "/"); strings.HasSuffix(prefix, ".kubernetes.io") && len(value.(string)) < 16 {
				kept[key] = value
			}
		}
		return kept
	case "nfs", "iscsi", "rbd", "cephfs", "glusterfs", "hostPath", "configMap", "secret", "projected", "downwardAPI": // what is in a volume
		for _, secret := range []string{"server", "path", "items", "sources", "secretName", "monitors", "targetPortal", "iqn", "user"} {
			delete(fields, secret)
		}
	case "selector":
		if _, nested := fields["matchLabels"]; !nested && fields["matchExpressions"] == nil { // of a service
			return r.inMap("labels", fields)
		}
	}
	r.fields(fields)
	return fields
}

func (r *redactor) list(name, key string, items []any) {
	for i, item := range items {
		switch typed := item.(type) {
		case map[string]any:
			r.fields(typed)
		case string:
			switch name {
			case "values":
				items[i] = r.value(key, typed)
			case "names", "namespaces", "requests", "reservedFor":
				items[i] = r.word(typed)
			case "matchLabelKeys", "mismatchLabelKeys", "topologyKeys":
				items[i] = r.label(typed)
			}
		}
	}
}

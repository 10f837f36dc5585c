package plan

import (
	"fmt"
	"slices"
	"strings"
)

// This file has the schema knowledge about the kinds of Kubernetes itself: keyed lists, atomic maps, and defaults in atomic
// values. It follows the markers listType, listMapKey and mapType in k8s.io/api; TestNothingToDoAfterApply verifies with a
// real server that it is complete for the rendered objects.

func isBuiltIn(group string) bool {
	switch group {
	case "", "apps", "batch", "autoscaling", "policy":
		return true
	}
	// Groups of API machinery extensions end in .x-k8s.io or in a longer name.
	name, ok := strings.CutSuffix(group, ".k8s.io")
	return ok && slices.Contains([]string{"admissionregistration", "apiextensions", "apiregistration", "coordination", "discovery", "flowcontrol.apiserver",
		"networking", "node", "rbac.authorization", "resource", "scheduling", "storage"}, name)
}

// keysOf returns the fields that identify the entries of a list; nil if the list is atomic.
func (d *differ) keysOf(field string, want []any, exact bool) []string {
	if exact || len(want) == 0 || !d.builtIn && field != "finalizers" && field != "ownerReferences" {
		return nil
	}
	switch field {
	case "containers", "initContainers", "ephemeralContainers", "volumes", "env", "imagePullSecrets", "secrets", "resourceClaims",
		"schedulingGates", "webhooks", "variables", "matchConditions":
		return []string{"name"}
	case "volumeMounts":
		return []string{"mountPath"}
	case "volumeDevices":
		return []string{"devicePath"}
	case "hostAliases":
		return []string{"ip"}
	case "topologySpreadConstraints":
		return []string{"topologyKey", "whenUnsatisfiable"}
	case "ownerReferences":
		return []string{"uid"}
	case "finalizers":
		return []string{}
	case "ports":
		return portKeys(want[0])
	}
	return nil
}

// portKeys returns the keys of ports of containers, Services or NetworkPolicies.
func portKeys(entry any) []string {
	port, _ := entry.(map[string]any)
	if _, ok := port["containerPort"]; ok {
		return []string{"containerPort", "protocol"}
	}
	return []string{"port", "protocol"}
}

// sameKey reports whether two entries of a list have the same keys; without keys the entry itself is the key.
func sameKey(a, b any, keys []string) bool {
	if len(keys) == 0 {
		return a == b
	}
	left, okLeft := a.(map[string]any)
	right, okRight := b.(map[string]any)
	if !okLeft || !okRight {
		return false
	}
	for _, k := range keys {
		if !equal(keyValue(left, k), keyValue(right, k), k) {
			return false
		}
	}
	return true
}

func keyValue(entry map[string]any, key string) any {
	if v := entry[key]; v != nil || key != "protocol" {
		return v
	}
	return "TCP"
}

func nameOf(entry any, keys []string) string {
	m, ok := entry.(map[string]any)
	if !ok {
		return fmt.Sprint(entry)
	}
	return fmt.Sprint(keyValue(m, keys[0]))
}

// isAtomicMap reports whether a map is atomic for the API server.
func isAtomicMap(field string) bool {
	switch field {
	case "nodeSelector", "selector", "podSelector", "namespaceSelector", "objectSelector", "labelSelector", "matchLabels",
		"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "roleRef":
		return true
	}
	return false
}

func isQuantityMap(field string) bool {
	return field == "limits" || field == "requests" || field == "hard"
}

func isQuantity(field string) bool { return field == "sizeLimit" || field == "divisor" }

// isDefault reports whether a field in an atomic list or map has the default of the API server.
func isDefault(field string, value any) bool {
	switch field {
	case "protocol":
		return value == "TCP"
	case "scope":
		return value == "*"
	case "apiGroup":
		return value == "rbac.authorization.k8s.io"
	case "apiVersion":
		return value == "v1"
	case "divisor":
		return sameQuantity("0", value)
	case "expirationSeconds":
		return equal(int64(3600), value, field)
	}
	return false
}

// isNothing reports whether a value is equivalent to its absence.
func isNothing(v any) bool {
	list, ok := v.([]any)
	return v == nil || v == "" || v == false || ok && len(list) == 0
}

package crds_test

import "testing"

const operatorPKIBase = `
apiVersion: network.operator.openshift.io/v1
kind: OperatorPKI
metadata: {name: ovn, namespace: default}
spec:
  targetCert: {commonName: ovn}
`

func TestOperatorPKIsAreAccepted(t *testing.T) {
	checkAcceptances(t, operatorPKIBase, []acceptance{
		{"as OpenShift's operator writes them", `{}`},
		{"the address at which a webhook on the same host is reached", `{spec: {targetCert: {commonName: 127.0.0.1}}}`},
		{"an IPv6 address", `{spec: {targetCert: {commonName: "::1"}}}`},
		{"a name with dots", `{spec: {targetCert: {commonName: ovn.example.com}}}`},
		{"only some of the times", `{spec: {rotation: {overlap: 48h}}}`},
		{"times of a test", `{spec: {rotation: {authorityValidity: 4m, authorityRefresh: 1m, certificateValidity: 2m, overlap: 20s}}}`},
	})
}

func TestOperatorPKIsAreRefusedWithTheWayOut(t *testing.T) {
	checkRefusals(t, operatorPKIBase, []refusal{
		{"no name", `{spec: {targetCert: {commonName: "a b"}}}`, []string{
			`spec.targetCert.commonName: Invalid value: "a b": "a b" is neither a DNS name nor an IP address; write for example ovn or 127.0.0.1`}},
		{"a time without a unit", `{spec: {rotation: {overlap: "24"}}}`, []string{
			`spec.rotation.overlap: Invalid value: "24": "24" is not a duration; write a number of at most seven digits and h, m or s, for example 24h`}},
		{"a time of nothing", `{spec: {rotation: {overlap: 0s}}}`, []string{
			`spec.rotation.overlap: Invalid value: "0s": 0s is out of range; use 10s to 262800h, which is thirty years`}},
		{"a time below the floor", `{spec: {rotation: {overlap: 9s}}}`, []string{
			`spec.rotation.overlap: Invalid value: "9s": 9s is out of range; use 10s to 262800h, which is thirty years`}},
		{"a short time with many digits", `{spec: {rotation: {authorityValidity: 00000001s}}}`, []string{
			`spec.rotation.authorityValidity: Invalid value: "00000001s": "00000001s" is not a duration; write a number of at most seven digits and h, m or s, for example 24h`}},
		{"a long time with many digits", `{spec: {rotation: {authorityValidity: 99999999h}}}`, []string{
			`spec.rotation.authorityValidity: Invalid value: "99999999h": "99999999h" is not a duration; write a number of at most seven digits and h, m or s, for example 24h`}},
		{"a CA that expires before what it signs", `{spec: {rotation: {authorityValidity: 80000h}}}`, []string{
			`spec.rotation: Invalid value: authorityValidity 80000h is too short: a CA is replaced after 78840h, signs for another 24h, and outlives what it signs by then (4380h). Lengthen it, or shorten the others`}},
	})
}

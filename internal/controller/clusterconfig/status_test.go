package clusterconfig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

func TestStatusIsThatOfTheAppliedNetwork(t *testing.T) {
	conditions := []metav1.Condition{{Type: "NetworkDiagnosticsAvailable"}}
	old := configv1.NetworkStatus{NetworkType: "Other", ServiceNetwork: []string{"1.0.0.0/8"}, ClusterNetwork: []configv1.ClusterNetworkEntry{entry("2.0.0.0/8", 9)},
		ClusterNetworkMTU: 9000, Migration: &configv1.NetworkMigration{NetworkType: "Other"}, Conditions: conditions}
	spec := func() *operatorv1.NetworkSpec {
		return desiredFrom(&configv1.Network{Spec: *good()}).over(&operatorv1.NetworkSpec{})
	}
	migrating := spec()
	migrating.Migration = &osv1.NetworkMigration{MTU: &osv1.MTUMigration{Network: &osv1.MTUMigrationValues{From: new(uint32(1400)), To: new(uint32(8900))}}}
	filled := configv1.NetworkStatus{NetworkType: "Flannel", ServiceNetwork: []string{"172.30.0.0/16"}, ClusterNetwork: []configv1.ClusterNetworkEntry{entry("10.128.0.0/14", 23)}}
	with := func(s configv1.NetworkStatus, change func(*configv1.NetworkStatus)) configv1.NetworkStatus {
		s = *s.DeepCopy()
		change(&s)
		return s
	}
	for _, row := range []struct {
		why     string
		now     configv1.NetworkStatus
		network appliedNetwork
		want    configv1.NetworkStatus
	}{
		{"nothing is applied: what an earlier operator wrote stays", old, appliedNetwork{}, old},
		{"ours is written in the place of anything else", old, appliedNetwork{spec(), 1450, true}, with(filled, func(s *configv1.NetworkStatus) {
			s.ClusterNetworkMTU, s.Conditions = 1450, conditions
		})},
		{"an unknown MTU does not change the status", old, appliedNetwork{spec(), 0, true}, with(filled, func(s *configv1.NetworkStatus) {
			s.ClusterNetworkMTU, s.Conditions = 9000, conditions
		})},
		{"a third party's network writes its own status", old, appliedNetwork{spec(), 1450, false}, with(old, func(s *configv1.NetworkStatus) { s.Migration = nil })},
		{"values missing from a third party's status are filled in", configv1.NetworkStatus{}, appliedNetwork{spec(), 1450, false}, filled},
		{"a migration is mirrored", configv1.NetworkStatus{}, appliedNetwork{migrating, 0, true}, with(filled, func(s *configv1.NetworkStatus) {
			s.Migration = &configv1.NetworkMigration{MTU: &configv1.MTUMigration{Network: &configv1.MTUMigrationValues{From: new(uint32(1400)), To: new(uint32(8900))}}}
		})},
	} {
		t.Run(row.why, func(t *testing.T) {
			before := row.now.DeepCopy()
			if diff := cmp.Diff(row.want, statusFor(row.now, row.network)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(*before, row.now); diff != "" {
				t.Error("the argument was changed", diff)
			}
		})
	}
}

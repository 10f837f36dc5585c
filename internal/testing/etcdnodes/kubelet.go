package etcdnodes

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// kubelets runs the Deployments of etcd members whose nodes exist, with the files that their pods would see, and
// stops what is not wanted any more.
func (w *World) kubelets() {
	w.T.Helper()
	var list appsv1.DeploymentList
	if err := w.API.List(w.T.Context(), &list, client.InNamespace(w.Cluster.Namespace)); err != nil {
		w.T.Fatal(err)
	}
	wanted := map[string]bool{}
	for i := range list.Items {
		d := &list.Items[i]
		node := d.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
		wanted[node] = true
		if w.off[node] {
			w.probe(d, "")
		} else {
			w.kubelet(node, d)
		}
	}
	for node := range w.running {
		if !wanted[node] {
			w.Kill(node)
		}
	}
}

// kubelet runs one member.
func (w *World) kubelet(node string, d *appsv1.Deployment) {
	w.T.Helper()
	hash := d.Spec.Template.Annotations[etcdcluster.ConfigHash]
	p := w.running[node]
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: w.Cluster.Namespace, Name: w.Cluster.MemberSecret(node)}
	err := w.API.Get(w.T.Context(), key, &secret)
	if p != nil && p.hash == hash && p.alive() {
		if err == nil {
			w.project(secret.Data, p.tls)
		}
		w.probe(d, p.probe)
		return
	}
	if err != nil {
		return // the pod waits for its Secret
	}
	w.Kill(node)
	// Below the directory of the whole test: the member may outlive the part of it that starts it.
	tls, err := os.MkdirTemp(w.disks, "pod-")
	if err != nil {
		w.T.Fatal(err)
	}
	w.project(secret.Data, tls)
	m := w.copyOf(node)
	for _, member := range m.Members {
		if member.Node != node {
			continue
		}
		config, err := m.EtcdConfig(member, etcdcluster.Paths{Data: w.Disk(node), TLS: tls, MetricsURL: w.metricsURL(member)})
		if err != nil {
			w.T.Fatal(err)
		}
		if w.Quota > 0 {
			config = strings.ReplaceAll(config, strconv.Itoa(etcdcluster.Quota), strconv.Itoa(w.Quota))
		}
		file := filepath.Join(tls, "etcd.yaml")
		if err := os.WriteFile(file, []byte(config+"unsafe-no-fsync: true\nlog-level: error\n"), 0o600); err != nil {
			w.T.Fatal(err)
		}
		w.running[node] = Run(w.T, w.log, "--config-file", file)
		w.running[node].hash, w.running[node].tls, w.running[node].probe = hash, tls, w.metricsURL(member)+"/readyz"
		w.Started[node]++
		w.template[d.Name] = hash
	}
}

// copyOf returns the membership as it was when the configuration of a member was rendered last.
func (w *World) copyOf(node string) etcdcluster.Membership {
	w.T.Helper()
	var cm corev1.ConfigMap
	if err := w.API.Get(w.T.Context(), client.ObjectKey{Namespace: w.Cluster.Namespace, Name: w.Cluster.MemberDeployment(node)}, &cm); err != nil {
		w.T.Fatal(err)
	}
	m, err := etcdcluster.DecodeMembership(cm.Data[etcdcluster.MembersKey])
	if err != nil {
		w.T.Fatal(err)
	}
	return m
}

// project brings a directory with the files of a Secret up to date, as a kubelet does for a running pod.
func (w *World) project(data map[string][]byte, dir string) {
	w.T.Helper()
	for name, content := range data {
		file := filepath.Join(dir, name)
		if existing, err := os.ReadFile(file); err == nil && bytes.Equal(existing, content) {
			continue
		}
		if err := os.WriteFile(file+".new", content, 0o400); err != nil {
			w.T.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			w.T.Fatal(err)
		}
	}
}

func (w *World) metricsURL(m etcdcluster.Member) string {
	return fmt.Sprintf("http://%s:%d", m.Address, w.Ports[2])
}

// probe writes the status of a Deployment: updated if the last pod that was started is of its template, since another one
// starts only when that has ended; and available if its etcd reports at a URL that it is ready.
func (w *World) probe(d *appsv1.Deployment, url string) {
	w.T.Helper()
	status := appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1}
	if w.template[d.Name] == d.Spec.Template.Annotations[etcdcluster.ConfigHash] {
		status.UpdatedReplicas = 1
	}
	if url != "" && ready(url) {
		status.ReadyReplicas, status.AvailableReplicas = 1, 1
	}
	if equality.Semantic.DeepEqual(d.Status, status) {
		return
	}
	d.Status = status
	if err := w.API.Status().Update(w.T.Context(), d); err != nil {
		w.T.Fatal(err)
	}
}

func ready(url string) bool {
	client := &http.Client{Timeout: 5 * time.Second} // as the readiness probe of the pod
	resp, err := client.Get(url)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Disk returns the directory of the data of the member on a node.
func (w *World) Disk(node string) string { return filepath.Join(w.disks, node) }

// Kill kills the member on a node, if it runs. The kubelet starts it again.
func (w *World) Kill(node string) {
	if p := w.running[node]; p != nil {
		p.Kill()
		delete(w.running, node)
	}
}

// SwitchOff stops a node until SwitchOn: its kubelet does not start the member again.
func (w *World) SwitchOff(node string) {
	w.off[node] = true
	w.Kill(node)
}

// SwitchOn starts a node that was switched off.
func (w *World) SwitchOn(node string) { delete(w.off, node) }

// Runs reports whether a member runs as recorded.
func (w *World) Runs(m etcdcluster.Member) bool {
	p := w.running[m.Node]
	return p != nil && p.hash == m.PodHash()
}

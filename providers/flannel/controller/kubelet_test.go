package controller

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// process is an etcd that runs on a node.
type process struct {
	cmd  *exec.Cmd
	hash string
	// tls is the directory with its certificates, probe the URL that reports whether it is ready.
	tls, probe string
	done       chan struct{}
}

// run starts a program that dies with the test. What it says goes to log, if that is not nil.
func run(t *testing.T, log io.Writer, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(program, args...), done: make(chan struct{})}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // it is killed, or exits because of its configuration, and is started again
		close(p.done)
	}()
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone
	<-p.done
}

func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// kubelets runs the Deployments of etcd members whose nodes exist, with the files that their pods would see, and
// stops what is not wanted any more. A node named in down is switched off.
func (w *world) kubelets() {
	w.t.Helper()
	var list appsv1.DeploymentList
	if err := w.api.List(w.t.Context(), &list, client.InNamespace(record.Namespace)); err != nil {
		w.t.Fatal(err)
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
			w.kill(node)
		}
	}
}

// kubelet runs one member.
func (w *world) kubelet(node string, d *appsv1.Deployment) {
	w.t.Helper()
	hash := d.Spec.Template.Annotations[etcdcluster.ConfigHash]
	p := w.running[node]
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: record.Namespace, Name: record.Etcd.MemberSecret(node)}
	err := w.api.Get(w.t.Context(), key, &secret)
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
	w.kill(node)
	// Below the directory of the whole test: the member may outlive the part of it that starts it.
	tls, err := os.MkdirTemp(w.disks, "pod-")
	if err != nil {
		w.t.Fatal(err)
	}
	w.project(secret.Data, tls)
	m := w.copyOf(node)
	for _, member := range m.Members {
		if member.Node != node {
			continue
		}
		config, err := m.EtcdConfig(member, etcdcluster.Paths{Data: w.disk(node), TLS: tls, MetricsURL: w.metricsURL(member)})
		if err != nil {
			w.t.Fatal(err)
		}
		if w.quota > 0 {
			config = strings.ReplaceAll(config, strconv.Itoa(etcdcluster.Quota), strconv.Itoa(w.quota))
		}
		file := filepath.Join(tls, "etcd.yaml")
		if err := os.WriteFile(file, []byte(config+"unsafe-no-fsync: true\nlog-level: error\n"), 0o600); err != nil {
			w.t.Fatal(err)
		}
		w.running[node] = run(w.t, w.log, etcdProgram(w.t), "--config-file", file)
		w.running[node].hash, w.running[node].tls, w.running[node].probe = hash, tls, w.metricsURL(member)+"/readyz"
		w.started[node]++
		w.template[d.Name] = hash
	}
}

// copyOf returns the membership as it was when the configuration of a member was rendered last.
func (w *world) copyOf(node string) etcdcluster.Membership {
	w.t.Helper()
	var cm corev1.ConfigMap
	if err := w.api.Get(w.t.Context(), client.ObjectKey{Namespace: record.Namespace, Name: record.Etcd.MemberDeployment(node)}, &cm); err != nil {
		w.t.Fatal(err)
	}
	m, err := etcdcluster.DecodeMembership(cm.Data[etcdcluster.MembersKey])
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// project brings a directory with the files of a Secret up to date, as a kubelet does for a running pod.
func (w *world) project(data map[string][]byte, dir string) {
	w.t.Helper()
	for name, content := range data {
		file := filepath.Join(dir, name)
		if existing, err := os.ReadFile(file); err == nil && bytes.Equal(existing, content) {
			continue
		}
		if err := os.WriteFile(file+".new", content, 0o400); err != nil {
			w.t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) metricsURL(m etcdcluster.Member) string {
	return fmt.Sprintf("http://%s:%d", m.Address, w.ports[2])
}

// probe writes the status of a Deployment: updated if the last pod that was started is of its template, since another one
// starts only when that has ended; and available if its etcd reports at a URL that it is ready.
func (w *world) probe(d *appsv1.Deployment, url string) {
	w.t.Helper()
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
	if err := w.api.Status().Update(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
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

func (w *world) disk(node string) string { return filepath.Join(w.disks, node) }

func (w *world) kill(node string) {
	if p := w.running[node]; p != nil {
		p.kill()
		delete(w.running, node)
	}
}

// switchOff stops a node until switchOn.
func (w *world) switchOff(node string) {
	w.off[node] = true
	w.kill(node)
}

func (w *world) switchOn(node string) { delete(w.off, node) }

// prune deletes the Deployments and ConfigMaps of members that are not rendered any more.
func (w *world) prune(rendered []manifest.Object) {
	w.t.Helper()
	keep := map[string]bool{}
	for _, o := range rendered {
		keep[o.Key().Kind+o.Key().Name] = true
	}
	var deployments appsv1.DeploymentList
	var maps corev1.ConfigMapList
	for _, list := range []client.ObjectList{&deployments, &maps} {
		if err := w.api.List(context.Background(), list, client.InNamespace(record.Namespace)); err != nil {
			w.t.Fatal(err)
		}
	}
	drop := func(o client.Object) {
		if err := client.IgnoreNotFound(w.api.Delete(w.t.Context(), o)); err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range deployments.Items {
		if !keep["Deployment"+deployments.Items[i].Name] {
			drop(&deployments.Items[i])
		}
	}
	for i := range maps.Items {
		if _, copy := maps.Items[i].Labels[etcdcluster.CopyLabel]; copy && !keep["ConfigMap"+maps.Items[i].Name] {
			drop(&maps.Items[i])
		}
	}
}

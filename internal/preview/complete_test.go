package preview_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// kubeconfigOf writes a kubeconfig for a server.
func kubeconfigOf(t *testing.T, c *rest.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: c.Host, CertificateAuthorityData: c.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: c.BearerToken, ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}
	if !strings.HasPrefix(c.Host, "http") {
		config.Clusters["c"].Server = "https://" + c.Host
	}
	if err := clientcmd.WriteToFile(config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRevisionsAndNodesAreCompletedFromTheCluster(t *testing.T) {
	server := apitest.Shared(t)
	const namespace = "default"
	server.Create(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "completed-0"}})
	server.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: applied.HistoryConfigMapName}, Data: map[string]string{
		applied.KeyRevisions: `[{"number":4,"spec":{},"outcome":"healthy","time":"2026-01-02T03:04:05Z"},{"number":5,"spec":{},"outcome":"healthy","time":"2026-01-02T03:04:05Z"}]`}})
	var flags kubeconfig.Flags
	set := pflag.NewFlagSet("cno", pflag.ContinueOnError)
	flags.Add(set)
	if err := set.Parse([]string{"--kubeconfig", kubeconfigOf(t, server.Config), "--namespace", namespace}); err != nil {
		t.Fatal(err)
	}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	revisions, _ := preview.CompleteRevisions(&flags, "current")(cmd, nil, "")
	if diff := cmp.Diff([]string{"current", "5", "4"}, revisions); diff != "" {
		t.Errorf("revisions: %s", diff)
	}
	if more, _ := preview.CompleteRevisions(&flags)(cmd, []string{"4"}, ""); len(more) > 0 {
		t.Errorf("a second revision is offered: %v", more)
	}
	if nodes, _ := preview.CompleteNodes(&flags)(cmd, nil, ""); !strings.Contains(strings.Join(nodes, " "), "completed-0") {
		t.Errorf("nodes: %v", nodes)
	}

	nowhere := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(nowhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var none kubeconfig.Flags
	set = pflag.NewFlagSet("cno", pflag.ContinueOnError)
	none.Add(set)
	if err := set.Parse([]string{"--kubeconfig", nowhere}); err != nil {
		t.Fatal(err)
	}
	if words, _ := preview.CompleteRevisions(&none, "current")(cmd, nil, ""); len(words) != 1 {
		t.Errorf("without a cluster: %v", words)
	}
}

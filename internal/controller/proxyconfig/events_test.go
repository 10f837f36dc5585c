package proxyconfig

import (
	"strings"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

func TestEachErrorOfTheProxyIsAnEvent(t *testing.T) {
	server := apitest.Shared(t)
	c := &Controller{Events: server.Recorder(t, Name)}
	proxy := &configv1.Proxy{ObjectMeta: metav1.ObjectMeta{Name: clusterName}}
	server.Create(t, proxy)
	long := "a" + strings.Repeat("ü", 1000)
	for _, text := range []string{"httpProxy: no host", "httpsProxy: no host", long} {
		c.recordEvents(proxy, []note{{reasonInvalid, text}})
	}
	server.AwaitNotes(t, proxy, reasonInvalid, "httpProxy: no host", "httpsProxy: no host", phrase.Note(long))
}

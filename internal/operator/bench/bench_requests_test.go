package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

// requests are those that the operator made, by the API server's audit log.
type requests struct {
	reads, watches, writes, lease int
	// last is when the last one came that was not for the lease.
	last time.Time
	// list has all of them but those for the lease.
	list []apitest.Request
}

// total is their number without those for the lease.
func (r requests) total() int { return r.reads + r.watches + r.writes }

// since counts the operator's requests from a moment on.
func (c *cluster) since(b testing.TB, begin time.Time) requests {
	b.Helper()
	var r requests
	for _, one := range c.Requests(b) {
		if one.User.Username != "system:serviceaccount:"+namespace+":"+account || one.Time.Before(begin) {
			continue
		}
		if strings.Contains(one.URI, "/leases/"+lease) || strings.HasSuffix(one.URI, "/leases") {
			r.lease++
			continue
		}
		switch {
		case one.Writes():
			r.writes++
		case one.Verb == "watch":
			r.watches++
		default:
			r.reads++
		}
		r.last, r.list = one.Time, append(r.list, one)
	}
	return r
}

// quiet waits until the operator has made no request for some seconds, and returns what it has made.
func (c *cluster) quiet(b testing.TB, begin time.Time) requests {
	b.Helper()
	const silence = 5 * time.Second
	for {
		r := c.since(b, begin)
		if r.total() > 0 && time.Since(r.last) > silence {
			return r
		}
		if time.Since(begin) > 5*time.Minute {
			b.Logf("the operator is not quiet after five minutes; its last request is %s %s", r.list[len(r.list)-1].Verb, r.list[len(r.list)-1].URI)
			return r
		}
		time.Sleep(time.Second)
	}
}

// write makes one small write and returns how long that took.
func (c *cluster) write(b testing.TB) time.Duration {
	b.Helper()
	start := time.Now()
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"floor","namespace":"default"},"data":{"at":"%d"}}`, start.UnixNano())
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "floor", Namespace: metav1.NamespaceDefault}}
	if err := c.Client.Patch(b.Context(), cm, client.RawPatch(types.ApplyPatchType, []byte(text)), client.FieldOwner("bench"), client.ForceOwnership); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// show logs what the requests are.
func (r requests) show(b testing.TB) {
	b.Helper()
	if len(r.list) > 0 {
		b.Logf("%d requests:\n%s", len(r.list), apitest.Table(r.list))
	}
}

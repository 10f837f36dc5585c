package vnid_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/vnid"
)

var start = time.Unix(1_790_000_000, 0)

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
}

func namespaces(names string) []*corev1.Namespace {
	var out []*corev1.Namespace
	for _, n := range strings.Fields(names) {
		out = append(out, namespace(n))
	}
	return out
}

// netns is the NetNamespace of a namespace; age orders them by time of creation. A request is that of the annotation change-network.
func netns(name string, id uint32, age int, request ...string) *sdnv1.NetNamespace {
	n := &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(start.Add(-time.Duration(age) * time.Minute)),
		Annotations: map[string]string{vnid.NamespaceUIDAnnotation: "uid-" + name}}, NetName: name, NetID: id}
	if len(request) > 0 {
		n.Annotations[sdnv1.AnnotationChangeNetwork] = request[0]
	}
	return n
}

// byHand is one without the UID of a Namespace.
func byHand(n *sdnv1.NetNamespace) *sdnv1.NetNamespace {
	delete(n.Annotations, vnid.NamespaceUIDAnnotation)
	return n
}

func of(uid string, n *sdnv1.NetNamespace) *sdnv1.NetNamespace {
	n.Annotations[vnid.NamespaceUIDAnnotation] = uid
	return n
}

func recorded(text string) *sdnv1.NetNamespace {
	n := netns("default", 0, 99)
	n.Annotations[vnid.RecordAnnotation] = text
	return n
}

// text is a plan in one line each.
func text(p vnid.Plan) []string {
	var out []string
	line := func(verb string, n *sdnv1.NetNamespace) {
		l := fmt.Sprintf("%s %s %d", verb, n.Name, n.NetID)
		if r := n.Annotations[vnid.RecordAnnotation]; r != "" {
			l += " " + r
		}
		if r, asks := n.Annotations[sdnv1.AnnotationChangeNetwork]; asks {
			l += " asks for " + r
		}
		if uid := n.Annotations[vnid.NamespaceUIDAnnotation]; uid != "uid-"+n.Name && verb != "delete" {
			l += " of " + uid
		}
		out = append(out, l)
	}
	for _, n := range p.Create {
		line("create", n)
	}
	for _, n := range p.Update {
		line("update", n)
	}
	for _, n := range p.Delete {
		line("delete", n)
	}
	for _, problem := range p.Problems {
		out = append(out, fmt.Sprintf("%s %s: %s", problem.Reason, problem.Object.(metav1.Object).GetName(), problem.Message))
	}
	slices.Sort(out)
	return out
}

func TestPlan(t *testing.T) {
	const record = `{"next":1034}`
	wrongName := netns("a", 11, 1)
	wrongName.NetName = "b"
	now := fmt.Sprint(start.Unix())
	for _, test := range []struct {
		reason string
		mode   agentconfig.Mode // NetworkPolicy if it is empty
		names  string           // Namespaces beside default
		have   []*sdnv1.NetNamespace
		cursor uint32
		held   map[string]vnid.Held
		want   []string
	}{
		{reason: "an empty cluster: the record comes first", names: "a b", want: []string{`create default 0 {"next":10}`}},
		{reason: "then VNIDs are reserved", names: "a b", have: []*sdnv1.NetNamespace{recorded(`{"next":10}`)}, want: []string{`update default 0 {"next":1034}`}},
		{reason: "then they are given out in ascending order", names: "a b", have: []*sdnv1.NetNamespace{recorded(record)}, cursor: 10, want: []string{"create a 10", "create b 11"}},
		{reason: "what was reserved before a restart may have been in use", names: "a b", have: []*sdnv1.NetNamespace{recorded(record), netns("b", 10, 1)},
			want: []string{`update default 0 {"next":2058}`}},
		{reason: "a settled cluster needs nothing", names: "a", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1)}},
		{reason: "a settled cluster of OpenShift gets the UIDs, and no record", names: "a", have: []*sdnv1.NetNamespace{byHand(netns("default", 0, 9)), byHand(netns("a", 77, 1))},
			want: []string{"update a 77", "update default 0"}},
		{reason: "no VNID of a cluster without a record is given again", names: "a b", have: []*sdnv1.NetNamespace{netns("default", 0, 9), netns("a", 77, 1)},
			want: []string{`update default 0 {"next":1102}`}},
		{reason: "without a record, the highest VNID is recorded before it is released", have: []*sdnv1.NetNamespace{netns("default", 0, 9), netns("a", 77, 1)},
			want: []string{`update default 0 {"next":78}`}},
		{reason: "used VNIDs are passed over", names: "a b", have: []*sdnv1.NetNamespace{recorded(record), netns("b", 20, 1)}, cursor: 20, want: []string{"create a 21"}},
		{reason: "after the highest VNID comes the lowest", names: "a b", have: []*sdnv1.NetNamespace{recorded(`{"next":12}`)}, cursor: 16777215,
			want: []string{"create a 16777215", "create b 10"}},

		{reason: "a NetNamespace leaves with its Namespace", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1)}, cursor: 500, want: []string{"delete a 11"}},
		{reason: "a Namespace that is recreated does not inherit the VNID", names: "a", have: []*sdnv1.NetNamespace{recorded(record), of("old", netns("a", 11, 1))}, cursor: 500, want: []string{"delete a 11"}},
		{reason: "one of an administrator stays without a Namespace", have: []*sdnv1.NetNamespace{recorded(record), byHand(netns("a", 11, 1))}},
		{reason: "and is that of the Namespace when it comes", names: "a", have: []*sdnv1.NetNamespace{recorded(record), byHand(netns("a", 11, 1))}, want: []string{"update a 11"}},
		{reason: "a VNID that the allocation would reach soon rests, which is recorded first", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 2000, 1)},
			want: []string{`update default 0 {"next":1034,"released":{"2000":` + now + `}}`}},
		{reason: "then it is deleted", have: []*sdnv1.NetNamespace{recorded(`{"next":1034,"released":{"2000":` + now + `}}`), netns("a", 2000, 1)}, want: []string{"delete a 2000"}},
		{reason: "a VNID that rests is not given", names: "b", have: []*sdnv1.NetNamespace{recorded(`{"next":1034,"released":{"20":` + now + `}}`)}, cursor: 20, want: []string{"create b 21"}},
		{reason: "until it has rested", names: "b", have: []*sdnv1.NetNamespace{recorded(`{"next":1034,"released":{"20":1789971199}}`)}, cursor: 20, want: []string{"create b 20"}},
		{reason: "a record that cannot be read", names: "a", have: []*sdnv1.NetNamespace{recorded(`{"next":3}`), netns("a", 11, 1)},
			want: []string{"NetNamespaceInvalid default: annotation networkoperator.openshift.io/vnid-allocation: next is 3, not a VNID from 10 to 16777215: the record starts again"}},

		{reason: "one that is deleted by hand gets its VNID again", names: "a", have: []*sdnv1.NetNamespace{recorded(record)}, cursor: 20,
			held: map[string]vnid.Held{"a": {UID: "uid-a", VNID: 11}}, want: []string{"create a 11"}},
		{reason: "and no other namespace gets it meanwhile", names: "a b", have: []*sdnv1.NetNamespace{recorded(record)}, cursor: 11,
			held: map[string]vnid.Held{"b": {UID: "uid-b", VNID: 11}}, want: []string{"create a 12", "create b 11"}},
		{reason: "but not if another Namespace has the name now", names: "a", have: []*sdnv1.NetNamespace{recorded(record)}, cursor: 20,
			held: map[string]vnid.Held{"a": {UID: "old", VNID: 11}}, want: []string{"create a 20"}},
		{reason: "a duplicate that is deleted gets another VNID", names: "a b", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 5)}, cursor: 20,
			held: map[string]vnid.Held{"b": {UID: "uid-b", VNID: 11}}, want: []string{"create b 20"}},
		{reason: "deleted by hand in mode Multitenant, joined to another", mode: agentconfig.Multitenant, names: "a b", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 5)}, cursor: 20,
			held: map[string]vnid.Held{"b": {UID: "uid-b", VNID: 11}}, want: []string{"create b 11"}},

		{reason: "a VNID that two have stays with the older one", names: "a b", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1), netns("b", 11, 5)},
			want: []string{"VNIDInUse a: VNID 11 belongs to namespace b, which had it first: pods of a have no network; delete this NetNamespace to get another VNID"}},
		{reason: "VNID 0 is that of default", names: "a", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 0, 500)},
			want: []string{"VNIDInUse a: VNID 0 belongs to namespace default, which had it first: pods of a have no network; delete this NetNamespace to get another VNID"}},
		{reason: "default is global always", have: []*sdnv1.NetNamespace{func() *sdnv1.NetNamespace { n := recorded(record); n.NetID = 15; return n }()}, want: []string{`update default 0 {"next":1034}`}},
		{reason: "a namespace with a VNID of its own in every cluster", mode: agentconfig.Multitenant, names: "kube-system", have: []*sdnv1.NetNamespace{recorded(record)}, cursor: 20,
			want: []string{"create kube-system 0"}},
		{reason: "in mode Multitenant they may share one", mode: agentconfig.Multitenant, names: "a b", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1), netns("b", 11, 5)}},
		{reason: "a wrong name", names: "a", have: []*sdnv1.NetNamespace{recorded(record), wrongName},
			want: []string{`NetNamespaceInvalid a: netname "b" is not the name of the object: pods of a have no network; delete this NetNamespace to get another one`}},
		{reason: "a reserved VNID", names: "a", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 7, 1)},
			want: []string{"NetNamespaceInvalid a: netid 7 is not the VNID of a namespace (0, 1, or 10 to 16777215): pods of a have no network; delete this NetNamespace to get another VNID"}},

		{reason: "mode Subnet has no VNIDs", mode: agentconfig.Subnet, names: "a"},
		{reason: "mode Subnet refuses requests", mode: agentconfig.Subnet, have: []*sdnv1.NetNamespace{netns("a", 11, 1, "global")},
			want: []string{"ChangeNetworkRefused a: network plugin does not allow NetNamespace renumbering", "update a 11"}},
		{reason: "mode NetworkPolicy refuses requests", names: "a", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1, "global")},
			want: []string{"ChangeNetworkRefused a: network plugin does not allow NetNamespace renumbering", "update a 11"}},
		{reason: "global", mode: agentconfig.Multitenant, names: "a", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1, "global")}, want: []string{"update a 0"}},
		{reason: "global again", mode: agentconfig.Multitenant, names: "a", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 0, 1, "global")}, want: []string{"update a 0"}},
		{reason: "join", mode: agentconfig.Multitenant, names: "a b", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1), netns("b", 12, 1, "join:a")}, want: []string{"update b 11"}},
		{reason: "join default", mode: agentconfig.Multitenant, names: "b", have: []*sdnv1.NetNamespace{recorded(record), netns("b", 12, 1, "join:default")}, want: []string{"update b 0"}},
		{reason: "two that join one another exchange nothing but what they had", mode: agentconfig.Multitenant, names: "a b",
			have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1, "join:b"), netns("b", 12, 1, "join:a")}, want: []string{"update a 12", "update b 11"}},
		{reason: "isolate one that is joined", mode: agentconfig.Multitenant, names: "a b", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1), netns("b", 11, 1, "isolate")}, cursor: 30,
			want: []string{"update b 30"}},
		{reason: "isolate both that are joined: one keeps the VNID", mode: agentconfig.Multitenant, names: "a b",
			have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1, "isolate"), netns("b", 11, 1, "isolate")}, cursor: 30, want: []string{"update a 30", "update b 11"}},
		{reason: "isolate a global one", mode: agentconfig.Multitenant, names: "a", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 0, 1, "isolate")}, cursor: 30, want: []string{"update a 30"}},
		{reason: "isolate one that is alone changes nothing", mode: agentconfig.Multitenant, names: "a", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1, "isolate")}, want: []string{"update a 11"}},
		{reason: "isolate waits for VNIDs to be reserved, and keeps its request", mode: agentconfig.Multitenant, names: "a", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 0, 1, "isolate")},
			want: []string{`update default 0 {"next":2058}`}},
		{reason: "a VNID that is left rests, too", mode: agentconfig.Multitenant, names: "a", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 2000, 1, "global")},
			want: []string{`update default 0 {"next":1034,"released":{"2000":` + now + `}}`}},
		{reason: "isolate default", mode: agentconfig.Multitenant, have: []*sdnv1.NetNamespace{func() *sdnv1.NetNamespace {
			n := recorded(record)
			n.Annotations[sdnv1.AnnotationChangeNetwork] = "isolate"
			return n
		}()},
			want: []string{`ChangeNetworkRefused default: request "isolate": namespace default is global always`, `update default 0 {"next":1034}`}},
		{reason: "join an unknown one", mode: agentconfig.Multitenant, names: "a", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1, "join:absent")},
			want: []string{`ChangeNetworkRefused a: request "join:absent": there is no valid NetNamespace "absent"`, "update a 11"}},
		{reason: "join itself", mode: agentconfig.Multitenant, names: "a", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1, "join:a")},
			want: []string{`ChangeNetworkRefused a: request "join:a": a namespace cannot join itself`, "update a 11"}},
		{reason: "join an invalid one", mode: agentconfig.Multitenant, names: "a b", have: []*sdnv1.NetNamespace{recorded(record), wrongName, netns("b", 12, 1, "join:a")},
			want: []string{`ChangeNetworkRefused b: request "join:a": there is no valid NetNamespace "a"`,
				`NetNamespaceInvalid a: netname "b" is not the name of the object: pods of a have no network; delete this NetNamespace to get another one`, "update b 12"}},
		{reason: "garbage", mode: agentconfig.Multitenant, names: "a", have: []*sdnv1.NetNamespace{recorded(record), netns("a", 11, 1, "Global")},
			want: []string{`ChangeNetworkRefused a: request "Global" is unknown: write global, isolate, or join: and the name of a namespace`, "update a 11"}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			if test.mode == "" {
				test.mode = agentconfig.NetworkPolicy
			}
			p := vnid.New(vnid.Cluster{Mode: test.mode, Reserved: map[string]uint32{"kube-system": 0}, Namespaces: namespaces("default " + test.names), NetNamespaces: test.have, Cursor: test.cursor, Held: test.held, Now: start})
			if diff := cmp.Diff(test.want, text(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// life carries out plans, each write or a part of them, and restarts.
type life struct {
	t     *testing.T
	c     vnid.Cluster
	have  map[string]*sdnv1.NetNamespace
	left  map[uint32]time.Time // when a VNID was released
	count int
}

// write carries out a plan up to a number of writes, and checks each.
func (l *life) write(p vnid.Plan, most int) {
	l.t.Helper()
	users := func(v uint32) (out []string) {
		for name, n := range l.have {
			if n.NetID == v {
				out = append(out, name)
			}
		}
		return out
	}
	release := func(v uint32) {
		if len(users(v)) == 0 && v >= sdnv1.VNIDFirst {
			l.left[v] = l.c.Now
		}
	}
	take := func(n *sdnv1.NetNamespace) {
		if n.NetID < sdnv1.VNIDFirst || len(users(n.NetID)) > 0 {
			return
		}
		if at, found := l.left[n.NetID]; found && l.c.Now.Sub(at) < vnid.Rest {
			l.t.Fatalf("VNID %d is given to %s %s after its release", n.NetID, n.Name, l.c.Now.Sub(at))
		}
	}
	for _, n := range slices.Concat(p.Create, p.Update, p.Delete) {
		if most--; most < 0 {
			return
		}
		l.count++
		old := l.have[n.Name]
		switch {
		case slices.Contains(p.Delete, n):
			delete(l.have, n.Name)
			release(n.NetID)
		case old == nil || old.NetID != n.NetID:
			take(n)
			l.have[n.Name] = n
			if old != nil {
				release(old.NetID)
			}
		default:
			l.have[n.Name] = n
		}
	}
}

func (l *life) plan() vnid.Plan {
	l.c.NetNamespaces = slices.Collect(maps.Values(l.have))
	p := vnid.New(l.c)
	l.c.Held, l.c.Cursor, l.c.Record = p.Held, p.Cursor, p.Record
	return p
}

func (l *life) restart() { l.c.Held, l.c.Cursor, l.c.Record = nil, 0, vnid.Record{} }

// TestReleasedVNIDIsNotReusedAtOnce creates and deletes namespaces near the end of the range, where the allocation wraps around, and beside VNIDs that
// another controller gave. The controller is killed after any number of writes.
func TestReleasedVNIDIsNotReusedAtOnce(t *testing.T) {
	l := &life{t: t, c: vnid.Cluster{Mode: agentconfig.Multitenant, Namespaces: namespaces("default"), Now: start}, have: map[string]*sdnv1.NetNamespace{}, left: map[uint32]time.Time{}}
	l.have["default"] = recorded(`{"next":16776900}`)
	for i := range 30 { // right behind the lowest VNID
		name := fmt.Sprint("old", i)
		l.have[name] = netns(name, uint32(15+3*i), 1)
		l.c.Namespaces = append(l.c.Namespaces, namespace(name))
	}
	for step := range 1500 {
		l.c.Now = l.c.Now.Add(7 * time.Second)
		if i := 1 + step*13%37; i < len(l.c.Namespaces) && step%3 == 0 {
			l.c.Namespaces = slices.Delete(l.c.Namespaces, i, i+1)
		} else {
			n := namespace(fmt.Sprint("n", step))
			l.c.Namespaces = append(l.c.Namespaces, n)
		}
		if n := l.have[fmt.Sprint("n", step-5)]; n != nil && step%4 == 0 {
			n.Annotations[sdnv1.AnnotationChangeNetwork] = []string{"isolate", "join:default", fmt.Sprint("join:n", step-6)}[step/4%3]
		}
		if step%2 == 0 {
			l.write(l.plan(), step%5)
			if step%100 == 0 {
				l.restart()
			}
		}
		for range 4 {
			l.write(l.plan(), 1<<20)
		}
		if p := l.plan(); !p.Empty() {
			t.Fatalf("step %d: not settled: %v", step, text(p))
		}
		if len(l.have) != len(l.c.Namespaces) {
			t.Fatalf("step %d: %d NetNamespaces of %d namespaces", step, len(l.have), len(l.c.Namespaces))
		}
	}
	if len(l.left) < 500 {
		t.Errorf("only %d VNIDs were released", len(l.left))
	}
	if record := l.c.Record; record.Next > 100_000 {
		t.Errorf("the allocation did not wrap around: %+v", record)
	}
}

// FuzzDecodeRecord looks for values that end the program.
func FuzzDecodeRecord(f *testing.F) {
	for _, s := range []string{"", "{}", `{"next":10}`, `{"next":1034,"released":{"2000":1790000000}}`, `{"next":-1}`, "[]", `{"released":{"x":1}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := vnid.DecodeRecord(s)
		if err == nil && s != "" && (r.Next < sdnv1.VNIDFirst || r.Next > sdnv1.VNIDLast) {
			t.Errorf("%q has next %d", s, r.Next)
		}
		have := netns("default", 0, 1)
		have.Annotations[vnid.RecordAnnotation] = s
		vnid.New(vnid.Cluster{Mode: agentconfig.NetworkPolicy, Namespaces: namespaces("default a"), NetNamespaces: []*sdnv1.NetNamespace{have}, Now: start})
	})
}

// Package vnid decides which NetNamespaces a cluster needs: which VNIDs are assigned and released, and how requests to join, isolate and open namespaces are
// handled. It is pure.
package vnid

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// Reasons of events.
const (
	// ReasonInvalid: a stored NetNamespace is invalid.
	ReasonInvalid = "NetNamespaceInvalid"
	// ReasonDuplicate: another namespace had the VNID first.
	ReasonDuplicate = "VNIDInUse"
	// ReasonExhausted: no VNID is free.
	ReasonExhausted = "VNIDsExhausted"
)

// Held is the VNID that a Namespace has had.
type Held struct {
	UID  types.UID
	VNID uint32
}

// Cluster is the observed state. New does not change the objects.
type Cluster struct {
	Mode agentconfig.Mode
	// Reserved are the fixed VNIDs of namespaces in addition to default. The operator creates their NetNamespaces; a missing one is created with the same
	// VNID.
	Reserved      map[string]uint32
	Namespaces    []*corev1.Namespace
	NetNamespaces []*sdnv1.NetNamespace
	// Held are the VNIDs of the last plan by namespace: a NetNamespace that was deleted manually gets its VNID again.
	Held map[string]Held
	// Cursor is the VNID at which the search starts, of those that Record has reserved; 0 if none is known to be unused.
	Cursor uint32
	// Record is used if NetNamespace default has no record: the controller's last one, or the zero value.
	Record Record
	Now    time.Time
}

// Plan has the required changes, as new objects and copies of existing ones.
type Plan struct {
	// Create, Update and Delete may be written in any order, but only after the previous plan was written. A plan that updates the record has only that write;
	// dependent changes follow in the next plan.
	Create, Update, Delete []*sdnv1.NetNamespace
	Problems               []Problem
	// Held, Cursor and Record are the input of the next plan, after all of this one is written.
	Held   map[string]Held
	Cursor uint32
	Record Record
}

// Problem is an error in an object.
type Problem struct {
	Object runtime.Object
	// Reason is one of the constants of this package. Message is a sentence.
	Reason, Message string
}

// Empty reports whether there is nothing to write.
func (p Plan) Empty() bool { return len(p.Create)+len(p.Update)+len(p.Delete) == 0 }

// planner is the state of New.
type planner struct {
	Cluster
	plan   Plan
	byName map[string]*sdnv1.NetNamespace
	uids   map[string]types.UID
	shared map[uint32]int // number of namespaces by VNID
	record Record
	// recorded is true if NetNamespace default has a record. released is true if a VNID was released.
	recorded, released bool
	// reserve is the number of VNIDs that were missing in the window.
	reserve uint32
}

// New returns the required changes.
func New(c Cluster) Plan {
	p := &planner{Cluster: c, byName: map[string]*sdnv1.NetNamespace{}, uids: map[string]types.UID{}, shared: map[uint32]int{}}
	p.plan.Cursor, p.plan.Held = c.Cursor, map[string]Held{}
	p.Namespaces = slices.SortedFunc(slices.Values(c.Namespaces), func(a, b *corev1.Namespace) int { return cmp.Compare(a.Name, b.Name) })
	p.NetNamespaces = slices.SortedFunc(slices.Values(c.NetNamespaces), func(a, b *sdnv1.NetNamespace) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range p.Namespaces {
		p.uids[n.Name] = n.UID
	}
	for _, n := range p.NetNamespaces {
		p.byName[n.Name] = n
		p.shared[n.NetID]++
	}
	if c.Mode == agentconfig.Subnet {
		p.refuseChanges()
		return p.plan
	}
	if !p.readRecord() {
		return p.plan
	}
	p.decide()
	return p.finish()
}

func (p *planner) problem(o runtime.Object, reason, format string, args ...any) {
	p.plan.Problems = append(p.plan.Problems, Problem{o, reason, fmt.Sprintf(format, args...)})
}

// refuseChanges refuses change requests in modes that do not allow them.
func (p *planner) refuseChanges() {
	for _, n := range p.NetNamespaces {
		if _, requested := n.Annotations[sdnv1.AnnotationChangeNetwork]; requested {
			p.refuse(n, "network plugin does not allow NetNamespace renumbering")
			p.plan.Update = append(p.plan.Update, withoutRequest(n))
		}
	}
}

func (p *planner) refuse(n *sdnv1.NetNamespace, format string, args ...any) {
	p.problem(n, sdnv1.ReasonChangeRefused, format, args...)
}

// withoutRequest returns a copy without the change request.
func withoutRequest(n *sdnv1.NetNamespace) *sdnv1.NetNamespace {
	out := n.DeepCopy()
	delete(out.Annotations, sdnv1.AnnotationChangeNetwork)
	return out
}

// readRecord reads the record. It returns false if NetNamespace default does not exist: the plan then only creates it.
func (p *planner) readRecord() bool {
	n := p.byName[metav1.NamespaceDefault]
	p.record = p.Record
	if n != nil {
		stored, err := DecodeRecord(n.Annotations[RecordAnnotation])
		switch {
		case err != nil:
			p.problem(n, ReasonInvalid, "%v: the record starts again", err)
		case stored.Next != 0:
			p.record, p.recorded = stored, true
		}
	}
	if p.record.Next == 0 {
		highest := sdnv1.VNIDFirst - 1
		for _, n := range p.NetNamespaces {
			if Valid(n) {
				highest = max(highest, n.NetID)
			}
		}
		p.record.Next = after(sdnv1.VNIDFirst, (highest+1-sdnv1.VNIDFirst)%cycle)
		p.plan.Cursor = 0
	}
	if p.plan.Cursor == 0 {
		p.plan.Cursor = p.record.Next
	}
	p.plan.Record, p.record = p.record, p.record.clone(p.Now)
	uid, exists := p.uids[metav1.NamespaceDefault]
	if n != nil || !exists {
		return true
	}
	p.plan.Held, p.plan.Record = p.Held, p.record
	created := create(metav1.NamespaceDefault, uid, sdnv1.VNIDGlobal)
	created.Annotations[RecordAnnotation] = p.record.encode()
	p.plan.Create = []*sdnv1.NetNamespace{created}
	return false
}

func create(name string, uid types.UID, vnid uint32) *sdnv1.NetNamespace {
	return &sdnv1.NetNamespace{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{NamespaceUIDAnnotation: string(uid)}},
		NetName:    name, NetID: vnid,
	}
}

// decide decides on all namespaces.
func (p *planner) decide() {
	p.held()
	if p.Mode == agentconfig.NetworkPolicy {
		owners, rest := Owners(p.NetNamespaces)
		for _, n := range rest {
			owner := metav1.NamespaceDefault
			if o := owners[n.NetID]; o != nil {
				owner = o.Name
			}
			p.problem(n, ReasonDuplicate, "VNID %d belongs to namespace %s, which had it first: pods of %s have no network; delete this NetNamespace to get another VNID", n.NetID, owner, n.Name)
		}
	}
	for _, n := range p.NetNamespaces {
		p.existing(n)
	}
	for _, n := range p.Namespaces {
		if p.byName[n.Name] == nil {
			p.missing(n)
		}
	}
}

// held decides on NetNamespaces that were deleted manually.
func (p *planner) held() {
	for _, name := range slices.Sorted(maps.Keys(p.Held)) {
		held := p.Held[name]
		if p.byName[name] != nil {
			continue
		}
		p.shared[held.VNID]++
		if p.uids[name] != held.UID && !p.release(held.VNID) {
			p.plan.Held[name] = held
		}
	}
}

// existing decides on an existing NetNamespace.
func (p *planner) existing(n *sdnv1.NetNamespace) {
	uid, exists := p.uids[n.Name]
	owner := n.Annotations[NamespaceUIDAnnotation]
	if owner != "" && (!exists || owner != string(uid)) && n.Name != metav1.NamespaceDefault {
		if p.release(n.NetID) {
			p.plan.Delete = append(p.plan.Delete, n)
		}
		return
	}
	if !Valid(n) {
		p.invalid(n)
	} else if exists {
		p.plan.Held[n.Name] = Held{uid, n.NetID}
	}
	desired := n
	if _, requested := n.Annotations[sdnv1.AnnotationChangeNetwork]; requested {
		var done bool
		if desired, done = p.change(n); !done {
			return
		}
	}
	if n.Name == metav1.NamespaceDefault && n.NetID != sdnv1.VNIDGlobal && p.release(n.NetID) {
		desired = n.DeepCopy()
		delete(desired.Annotations, sdnv1.AnnotationChangeNetwork)
		desired.NetID = sdnv1.VNIDGlobal
	}
	if exists && owner != string(uid) {
		if desired == n {
			desired = n.DeepCopy()
		}
		metav1.SetMetaDataAnnotation(&desired.ObjectMeta, NamespaceUIDAnnotation, string(uid))
	}
	if desired != n {
		p.plan.Update = append(p.plan.Update, desired)
	}
}

func (p *planner) invalid(n *sdnv1.NetNamespace) {
	if n.NetName != n.Name {
		p.problem(n, ReasonInvalid, "netname %q is not the name of the object: pods of %s have no network; delete this NetNamespace to get another one", n.NetName, n.Name)
		return
	}
	p.problem(n, ReasonInvalid, "netid %d is not the VNID of a namespace (0, 1, or %d to %d): pods of %s have no network; delete this NetNamespace to get another VNID",
		n.NetID, sdnv1.VNIDFirst, sdnv1.VNIDLast, n.Name)
}

// missing creates the NetNamespace of a namespace.
func (p *planner) missing(n *corev1.Namespace) {
	var vnid uint32
	held, again := p.Held[n.Name]
	if again && held.UID == n.UID && (p.Mode == agentconfig.Multitenant || p.shared[held.VNID] == 1) {
		vnid = held.VNID
		p.plan.Held[n.Name] = held
	} else if reserved, found := p.Reserved[n.Name]; found {
		vnid = reserved
	} else {
		free, ok := p.allocate(n)
		if !ok {
			return
		}
		vnid = free
	}
	p.plan.Create = append(p.plan.Create, create(n.Name, n.UID, vnid))
	p.plan.Held[n.Name] = Held{n.UID, vnid}
}

// finish returns the plan. If the record changes, the plan is only the write of the record.
func (p *planner) finish() Plan {
	if p.reserve > 0 {
		p.record.Next = after(p.record.Next, max(window, p.reserve))
	}
	stored := p.plan.Record
	if p.record.Next == stored.Next && (p.recorded || !p.released) && !gained(stored.Released, p.record.Released) {
		return p.plan
	}
	out := Plan{Problems: p.plan.Problems, Held: p.Held, Cursor: p.Cursor, Record: p.record}
	if out.Cursor == 0 {
		out.Cursor = stored.Next
	}
	n := p.byName[metav1.NamespaceDefault]
	if n == nil {
		return out // without a NetNamespace default there is no record
	}
	n = n.DeepCopy()
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, RecordAnnotation, p.record.encode())
	out.Update = []*sdnv1.NetNamespace{n}
	return out
}

// gained reports whether VNIDs were released.
func gained(before, now map[uint32]int64) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(now)), func(v uint32) bool { return before[v] != now[v] })
}

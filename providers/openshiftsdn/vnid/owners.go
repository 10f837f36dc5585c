package vnid

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
)

// Valid reports whether a NetNamespace belongs to a namespace and has a valid VNID. Invalid ones are reported and ignored.
func Valid(n *sdnv1.NetNamespace) bool {
	return n.NetName == n.Name && (n.NetID <= sdnv1.VNIDControlPlane || n.NetID >= sdnv1.VNIDFirst && n.NetID <= sdnv1.VNIDLast)
}

// Owners returns the NetNamespace that owns each VNID in mode NetworkPolicy, in which namespaces do not share VNIDs. "default" owns VNID 0. Any other VNID
// belongs to the oldest NetNamespace that has it, then to the first by name. rest are the others, sorted by age.
func Owners(all []*sdnv1.NetNamespace) (owners map[uint32]*sdnv1.NetNamespace, rest []*sdnv1.NetNamespace) {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b *sdnv1.NetNamespace) int {
		first := func(n *sdnv1.NetNamespace) int {
			if n.Name == metav1.NamespaceDefault {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(first(a), first(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	owners = make(map[uint32]*sdnv1.NetNamespace, len(all))
	for _, n := range sorted {
		if !Valid(n) {
			continue
		}
		if owners[n.NetID] != nil || n.NetID == sdnv1.VNIDGlobal && n.Name != metav1.NamespaceDefault {
			rest = append(rest, n)
			continue
		}
		owners[n.NetID] = n
	}
	return owners, rest
}

package cniserver

import (
	"fmt"
	"testing"

	"github.com/cluster-network-operator/cno/internal/cniproto"
)

// BenchmarkAddAndDelete is what the server itself adds to a network that does nothing: socket, turn, and the records on disk.
func BenchmarkAddAndDelete(b *testing.B) {
	n := newNode(b)
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprintf("c%d", i)
		n.netns(name)
		for _, command := range []string{cniproto.Add, cniproto.Delete} {
			if r := n.ask(n.request(command, name)); r.Error != nil {
				b.Fatal(r.Error)
			}
		}
	}
}

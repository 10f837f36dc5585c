package dayone

import (
	"strings"
	"testing"
)

// TestAlternativeNamesAreAddedAndRemovedWithTheDocument tests alternative names, which the backend for NetworkManager sets without NetworkManager.
func TestAlternativeNamesAreAddedAndRemovedWithTheDocument(t *testing.T) {
	const long, old = "the-port-of-the-network-of-nodes", "old-name"
	s := newScene(t, "install-config.yml")
	s.Run("ip", "link", "property", "add", "dev", card, "altname", old)
	named := strings.NewReplacer("  type: ethernet\n", "  type: ethernet\n  alt-names: [{name: "+long+"}, {name: "+old+", state: absent}]\n", "next-hop-interface: "+card, "next-hop-interface: "+long)

	before := s.profiles()
	s.giveText(named.Replace(strings.ReplaceAll(document(t, "other-address.yml"), gateway+"\n", "192.168.111.9\n")))
	s.refuse("does not answer")
	s.isBack(before)
	s.named(old, long)

	s.giveText(named.Replace(document(t, "other-address.yml")))
	s.apply("applied")
	s.has(card, "192.168.111.120/24")
	s.named(long, old)
	s.reaches()
	s.apply("unchanged")

	s.reboot()
	s.apply("applied") // the kernel has lost them
	s.named(long, old)
	s.reaches()

	// The host has the name now, and the document may use it in place of the card's.
	s.giveText(strings.NewReplacer("name: "+card, "name: "+long, "next-hop-interface: "+card, "next-hop-interface: "+long).Replace(document(t, "install-config.yml")))
	s.apply("applied")
	s.has(card, address)
	s.named(long, old)
}

// named fails unless the card has one alternative name and not the other.
func (s *scene) named(has, not string) {
	s.t.Helper()
	out := s.Run("ip", "link", "show", "dev", card)
	if !strings.Contains(out, "altname "+has+"\n") || strings.Contains(out, "altname "+not+"\n") {
		s.t.Errorf("the card is not called %s, or called %s:\n%s", has, not, out)
	}
}

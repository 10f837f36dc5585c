package agentconfig_test

import (
	"os"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

func TestTheDocumentedConfigurationIsValid(t *testing.T) {
	page, err := os.ReadFile("../../../docs/programs/flanneld.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```json\n")
	block, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no configuration")
	}
	c, err := agentconfig.Decode([]byte(block))
	if err != nil {
		t.Fatal(err)
	}
	if errs := c.Validate(); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
}

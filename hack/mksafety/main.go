// Command mksafety writes the table of fields into docs/safety.md, between its two marks.
//
//	go run ./hack/mksafety [FILE]
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/provider"
)

const begin, end = "<!-- fields -->\n", "<!-- end of fields -->\n"

var errMarks = errors.New("the marks of the table are missing")

func main() {
	name := "docs/safety.md"
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	if err := run(name); err != nil {
		fmt.Fprintf(os.Stderr, "mksafety: %v\n", err)
		os.Exit(1)
	}
}

func run(name string) error {
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if page, err = replaced(page, table(networks.Registry().Fields(""))); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, page, 0o644)
}

// replaced returns a page with another table.
func replaced(page []byte, table string) ([]byte, error) {
	before, rest, ok := bytes.Cut(page, []byte(begin))
	_, after, found := bytes.Cut(rest, []byte(end))
	if !ok || !found {
		return nil, errMarks
	}
	return bytes.Join([][]byte{before, []byte(begin + table + end), after}, nil), nil
}

// table is the table of fields in Markdown.
func table(fields []provider.Field) string {
	var out bytes.Buffer
	fmt.Fprintln(&out, "| field | class | disruption at worst | with an acknowledgement | rule | why |")
	fmt.Fprintln(&out, "|---|---|---|---|---|---|")
	for _, f := range fields {
		acknowledge := ""
		if f.Acknowledge {
			acknowledge = "yes"
		}
		if f.When != "" {
			acknowledge += ", if " + f.When
		}
		class, disruption := string(f.Class), string(f.Disruption)
		if f.Grows != "" {
			class += fmt.Sprintf("; %s where a pool grows (%s)", provider.Rolling, f.Grows)
			disruption += fmt.Sprintf("; %s where a pool grows", provider.PodsRestart)
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s | %s |\n", f.Path, class, disruption, acknowledge, cmp.Or(f.Fixed, "-"), f.Reason)
	}
	return out.String()
}

package node

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// tableBlock is a chain, set or map as printed by nft: its definition, and its rules or elements, one per line.
type tableBlock struct{ definition, lines []string }

func (b tableBlock) all() []string { return slices.Concat(b.definition, b.lines) }

var blockStart = regexp.MustCompile(`^\t(chain|map|set) (\S+) \{$`)

// definitions matches the lines of chains, sets and maps that are neither rules nor elements.
var definitions = regexp.MustCompile(`^(type|typeof|flags|size|timeout|gc-interval|auto-merge|comment)\b`)

// tableBlocks parses a table printed by nft into blocks, by kind and name.
func tableBlocks(text string) map[string]tableBlock {
	blocks := map[string]tableBlock{}
	name, elements := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := blockStart.FindStringSubmatch(line); m != nil {
			name = m[1] + " " + m[2]
			blocks[name] = tableBlock{}
			continue
		}
		if line == "\t}" {
			name, elements = "", false
		}
		if name == "" {
			continue
		}
		b := blocks[name]
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "elements = {"); ok {
			line, elements = rest, true
		}
		switch {
		case elements:
			for part := range strings.SplitSeq(strings.TrimSuffix(line, "}"), ",") {
				if part = strings.TrimSpace(part); part != "" {
					b.lines = append(b.lines, part)
				}
			}
		case definitions.MatchString(line):
			b.definition = append(b.definition, line)
		default:
			b.lines = append(b.lines, line)
		}
		blocks[name] = b
	}
	return blocks
}

// checkListed returns an error if the listing of a table right after its write lacks rules or elements, or has additional ones: a third party has changed it
// in the meantime.
func (t nftTable) checkListed(printed string) error {
	blocks := tableBlocks(printed)
	differs := func(block string, want int) error {
		if got := len(blocks[block].lines); got != want {
			return fmt.Errorf("%s, %s: a third party changed it while it was written: it has %d lines instead of %d", t.title(), block, got, want)
		}
		return nil
	}
	for _, c := range t.chains {
		if err := differs("chain "+c.name, len(c.rules)); err != nil {
			return err
		}
	}
	for _, c := range t.collections {
		kind := "set "
		if c.isMap {
			kind = "map "
		}
		if c.timeout != 0 {
			continue // rules add its elements
		}
		keys := map[string]bool{}
		for _, e := range c.elements {
			keys[strings.Join(e.key, " ")] = true
		}
		if err := differs(kind+c.name, len(keys)); err != nil {
			return err
		}
	}
	return nil
}

package openflow

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
)

// Flow is one rule of a table: what its match selects is treated by its actions, if no flow of a higher priority selects it.
type Flow struct {
	// Table is the number of the table, 0 to 254. Packets begin in table 0.
	Table uint8
	// Priority decides between flows that select the same packet: the highest wins.
	Priority uint16
	// Match selects packets. Empty selects all.
	Match []Match
	// Actions are carried out in order. Empty drops the packet.
	Actions []Action
	// Note is the reason for the flow, which traces of dropped packets show: "NetworkPolicy shop/web". It may be empty, and does not
	// affect packets.
	Note string
	// Owner is the object that the flow belongs to, if a bridge can do without its flows: those of others are then applied when it refuses one of them. It may be
	// empty, and does not affect packets.
	Owner string
}

// Cookie is the number that identifies the note of a bridge's flow in a Set: a hash of the note, 0 without one.
func (f Flow) Cookie() uint64 {
	if f.Note == "" {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(f.Note)) // cannot fail
	return h.Sum64()
}

// String is the flow in the notation of ovs-ofctl(8), with the parts of its match in a fixed order: two flows with the same string are the
// same.
func (f Flow) String() string {
	return f.line(f.selector())
}

// line returns the flow with its selector in the notation of ovs-ofctl(8).
func (f Flow) line(selector string) string {
	var b strings.Builder
	if c := f.Cookie(); c != 0 {
		fmt.Fprintf(&b, "cookie=%#x, ", c)
	}
	b.WriteString(selector)
	b.WriteString(beforeActions)
	b.WriteString(actions(f.Actions))
	return b.String()
}

// beforeActions separates the selector of a flow from its actions.
const beforeActions = " actions="

// selector returns the key of a flow, which is unique on a bridge.
func (f Flow) selector() string {
	parts := []string{fmt.Sprintf("table=%d", f.Table), fmt.Sprintf("priority=%d", f.Priority)}
	for _, m := range sortedMatch(f.Match) {
		parts = append(parts, m.text)
	}
	return strings.Join(parts, ",")
}

func sortedMatch(in []Match) []Match {
	out := slices.DeleteFunc(slices.Clone(in), func(m Match) bool { return m.text == "" })
	slices.SortFunc(out, func(a, b Match) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.text, b.text))
	})
	return slices.Compact(out)
}

func actions(in []Action) string {
	if len(in) == 0 {
		return "drop"
	}
	texts := make([]string, len(in))
	for i, a := range in {
		texts[i] = string(a)
	}
	return strings.Join(texts, ",")
}

// Set is the set of all flows of a bridge. The zero value is empty: a bridge with it drops everything.
type Set struct {
	flows []Flow
	// lines are the flows as text.
	lines []string
	notes map[uint64]string
	text  string
	rates []Rate
	// owners are the owners of flows by cookie.
	owners map[uint64]string
}

// Verbatim returns a set whose String is a text but whose flows are not accessible, for a set of an earlier process.
func Verbatim(text string) Set { return Set{text: text} }

// NewSet returns a set of flows, in the order of tables, priorities and matches. Repeated flows count once; their note is the first one's. Two
// flows of a table with the same priority and match that differ in their actions are an error that names all of them: which one a
// bridge obeys would depend on the order in which they came.
func NewSet(flows ...Flow) (Set, error) {
	bySelector := make(map[string]Flow, len(flows))
	selectors := make([]string, 0, len(flows))
	s := Set{notes: map[uint64]string{}, owners: map[uint64]string{}}
	var conflicts []string
	for _, f := range flows {
		if f.Table == 255 {
			conflicts = append(conflicts, fmt.Sprintf("%s: tables are 0 to 254", f))
		}
		key := f.selector()
		if before, exists := bySelector[key]; exists {
			if a, b := actions(before.Actions), actions(f.Actions); a != b {
				conflicts = append(conflicts, fmt.Sprintf("%s: both actions=%s (%s) and actions=%s (%s)", key, a, before.Note, b, f.Note))
			}
			continue
		}
		bySelector[key] = f
		selectors = append(selectors, key)
		if f.Note != "" {
			s.notes[f.Cookie()] = f.Note
			if f.Owner != "" {
				s.owners[f.Cookie()] = f.Owner
			}
		}
	}
	if len(conflicts) > 0 {
		slices.Sort(conflicts)
		return Set{}, fmt.Errorf("flows that contradict one another: %s", strings.Join(conflicts, "; "))
	}
	slices.SortFunc(selectors, func(x, y string) int {
		a, b := bySelector[x], bySelector[y]
		return cmp.Or(cmp.Compare(a.Table, b.Table), -cmp.Compare(a.Priority, b.Priority), cmp.Compare(x, y))
	})
	for _, key := range selectors {
		f := bySelector[key]
		s.flows, s.lines = append(s.flows, f), append(s.lines, f.line(key))
	}
	return s, nil
}

// Len returns the number of flows.
func (s Set) Len() int {
	if s.text == "" {
		return len(s.flows)
	}
	return strings.Count(s.text, "\n") - strings.Count(s.text, rateComment)
}

// Notes returns the notes of flows by cookie.
func (s Set) Notes() map[uint64]string { return maps.Clone(s.notes) }

// WithNotes returns the set with other notes: those of a set that another process has created.
func (s Set) WithNotes(notes map[uint64]string) Set {
	s.notes = maps.Clone(notes)
	return s
}

// Note returns the note of the flows with a cookie, empty if none has it.
func (s Set) Note(cookie uint64) string { return s.notes[cookie] }

// OwnerOf returns the owner of the flows with a cookie, empty if they have none.
func (s Set) OwnerOf(cookie uint64) string { return s.owners[cookie] }

// OwnerAt returns the owner of the flow in a line of String, from 1; empty if it has none.
func (s Set) OwnerAt(line int) string {
	if i := line - len(s.rates) - 1; i >= 0 && i < len(s.flows) {
		return s.flows[i].Owner
	}
	return ""
}

// OwnerOfMeter returns the owner of the flows that use a meter, empty if they have none.
func (s Set) OwnerOfMeter(id uint32) string {
	for _, f := range s.flows {
		if f.Owner != "" && slices.Contains(f.Actions, Meter(id)) {
			return f.Owner
		}
	}
	return ""
}

// Owned returns the flows of an owner, in the form of String.
func (s Set) Owned(owner string) string {
	var b strings.Builder
	for i, f := range s.flows {
		if f.Owner == owner {
			b.WriteString(s.lines[i])
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// String is the set as a file of ovs-ofctl(8), a flow a line, after comments with its meters.
func (s Set) String() string {
	if s.text != "" {
		return s.text
	}
	var b strings.Builder
	for _, r := range s.rates {
		fmt.Fprintf(&b, "%s%d %d %d\n", rateComment, r.ID, r.Kilobits, r.Burst)
	}
	for _, line := range s.lines {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// Explained is the set for people and for expected outputs of tests: tables under a heading, each flow with its note and without its
// cookie.
func (s Set) Explained() string {
	var b strings.Builder
	for _, r := range s.rates {
		fmt.Fprintf(&b, "%s\n", r)
	}
	for i, f := range s.flows {
		if i == 0 || s.flows[i-1].Table != f.Table {
			fmt.Fprintf(&b, "table %d\n", f.Table)
		}
		match := strings.TrimPrefix(f.selector(), fmt.Sprintf("table=%d,", f.Table))
		fmt.Fprintf(&b, "  %s -> %s", match, actions(f.Actions))
		if f.Note != "" {
			fmt.Fprintf(&b, "  # %s", f.Note)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

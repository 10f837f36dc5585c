package openflow

import (
	"regexp"
	"strconv"
	"strings"
)

// Trace is the way of a packet through the flows of a bridge.
type Trace struct {
	// Steps are the flows that selected the packet, in order, and the tables in which none did.
	Steps []Step
	// Datapath is what happens to the packet in the end, in the words of Open vSwitch: "drop", or the ports that it leaves by.
	Datapath string
	// Text is all that Open vSwitch printed.
	Text string
}

// Step is one flow that selected the packet.
type Step struct {
	Table int
	// Flow is its match and priority, "No match." if the table has none for the packet.
	Flow string
	// Actions are what was carried out, in the words of Open vSwitch.
	Actions []string
	// Note is the flow's; empty if the set has no flow with its cookie.
	Note string
}

// Dropped reports whether the packet goes nowhere.
func (t Trace) Dropped() bool { return t.Datapath == "drop" }

// Reason is the note of the last step that has one: of a packet that was dropped, why.
func (t Trace) Reason() string {
	for i := len(t.Steps) - 1; i >= 0; i-- {
		if t.Steps[i].Note != "" {
			return t.Steps[i].Note
		}
	}
	return ""
}

var (
	bridgeLine = regexp.MustCompile(`^\s*bridge\("([^"]*)"\)`)
	stepLine   = regexp.MustCompile(`^\s*(\d+)\. (.*)$`)
	cookieText = regexp.MustCompile(`,? ?cookie (0x[0-9a-f]+)`)
)

// ParseTrace reads what the command ofproto/trace of ovs-vswitchd prints, with the notes of a set: a line for each flow, " 0. in_port=1, priority 100, cookie 0x1f", its actions below it,
// further in, and at the end "Datapath actions: drop".
func ParseTrace(text string, s Set) Trace {
	t := Trace{Text: text}
	below := false                 // lines further in are actions of the last step
	bridge, elsewhere := "", false // the bridge in which the packet begins
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := bridgeLine.FindStringSubmatch(line); m != nil {
			// A packet that leaves by a tunnel or a patch port goes on in another bridge, whose flows are not of the set.
			if bridge == "" {
				bridge = m[1]
			}
			elsewhere, below = m[1] != bridge, false
			continue
		}
		if actions, found := strings.CutPrefix(line, "Datapath actions: "); found {
			// After connection tracking the packet comes back: the last line is what counts.
			t.Datapath, below = actions, false
			continue
		}
		if elsewhere {
			continue
		}
		if m := stepLine.FindStringSubmatch(line); m != nil {
			table, err := strconv.Atoi(m[1])
			if err != nil {
				continue // a number that no table has
			}
			step := Step{Table: table, Flow: m[2]}
			if c := cookieText.FindStringSubmatch(m[2]); c != nil {
				cookie, err := strconv.ParseUint(c[1], 0, 64)
				if err == nil {
					step.Note = s.Note(cookie)
				}
				step.Flow = strings.Replace(m[2], c[0], "", 1)
			}
			t.Steps, below = append(t.Steps, step), true
			continue
		}
		// Actions are written below their flow, at least four columns in.
		if n := len(t.Steps); below && strings.HasPrefix(line, "    ") {
			t.Steps[n-1].Actions = append(t.Steps[n-1].Actions, strings.TrimLeft(line, " >-"))
		}
	}
	return t
}

package openflow

import (
	"regexp"
	"strconv"
	"strings"
)

// Trace is the path of a packet through the flows of a bridge.
type Trace struct {
	// Steps are the flows that selected the packet, in order, and the tables in which none did.
	Steps []Step
	// Datapath has the final actions on the packet, as Open vSwitch prints them: "drop", or the ports that it leaves by.
	Datapath string
	// Text is the complete output of Open vSwitch.
	Text string
}

// Step is one flow that selected the packet.
type Step struct {
	Table int
	// Flow is its match and priority, "No match." if the table has none for the packet.
	Flow string
	// Actions are the executed actions, as Open vSwitch prints them.
	Actions []string
	// Note is the flow's; empty if the set has no flow with its cookie.
	Note string
}

// Dropped reports whether the packet is dropped.
func (t Trace) Dropped() bool { return t.Datapath == "drop" }

// Reason returns the note of the last step that has one: the reason why a packet was dropped.
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

// ParseTrace parses the output of the command ofproto/trace of ovs-vswitchd, and adds the notes of a set. The output has a line for each
// flow, " 0. in_port=1, priority 100, cookie 0x1f", below it the indented actions, and at the end "Datapath actions: drop".
func ParseTrace(text string, s Set) Trace {
	t := Trace{Text: text}
	below := false                 // indented lines are actions of the last step
	bridge, elsewhere := "", false // the bridge in which the packet begins
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := bridgeLine.FindStringSubmatch(line); m != nil {
			// A packet that leaves by a tunnel or a patch port continues in another bridge, whose flows are not in the set.
			if bridge == "" {
				bridge = m[1]
			}
			elsewhere, below = m[1] != bridge, false
			continue
		}
		if actions, found := strings.CutPrefix(line, "Datapath actions: "); found {
			// Connection tracking recirculates the packet, with a line each time: the last one is final.
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
		// Actions are below their flow, indented by at least four columns.
		if n := len(t.Steps); below && strings.HasPrefix(line, "    ") {
			t.Steps[n-1].Actions = append(t.Steps[n-1].Actions, strings.TrimLeft(line, " >-"))
		}
	}
	return t
}

package flows

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/cluster-network-operator/cno/internal/openflow"
)

// meterText matches a meter with one band in the output of ovs-ofctl.
var meterText = regexp.MustCompile(`meter=(\d+) kbps burst[^\n]*\n\s*type=drop rate=(\d+) burst_size=(\d+)`)

// anyMeter matches a meter of any kind.
var anyMeter = regexp.MustCompile(`(?m)^meter=(\d+) `)

// meters returns the meters of the bridge by ID. Meters of a kind that this package does not create have no rate.
func (b Bridge) meters(ctx context.Context) (map[uint32]openflow.Rate, error) {
	out, err := b.ofctl(ctx, "", "dump-meters", "unix:"+b.management())
	if err != nil {
		return nil, err
	}
	all := map[uint32]openflow.Rate{}
	number := func(text string) uint32 {
		n, _ := strconv.ParseUint(text, 10, 32) // the text has only digits; a number that is too large becomes the maximum
		return uint32(n)
	}
	for _, m := range anyMeter.FindAllStringSubmatch(out, -1) {
		all[number(m[1])] = openflow.Rate{ID: number(m[1])}
	}
	for _, m := range meterText.FindAllStringSubmatch(out, -1) {
		all[number(m[1])] = openflow.Rate{ID: number(m[1]), Kilobits: number(m[2]), Burst: number(m[3])}
	}
	return all, nil
}

// MeterDifferences compares the meters of the bridge with those of a set. Each difference is a clause.
func (b Bridge) MeterDifferences(ctx context.Context, s openflow.Set) ([]string, error) {
	live, err := b.meters(ctx)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, r := range s.Rates() {
		switch other, exists := live[r.ID]; {
		case !exists:
			all = append(all, fmt.Sprintf("meter %d is missing", r.ID))
		case other != r:
			all = append(all, fmt.Sprintf("meter %d has %d kbit/s, not %d", r.ID, other.Kilobits, r.Kilobits))
		}
		delete(live, r.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(live)) {
		all = append(all, fmt.Sprintf("meter %d is one that no flow uses", id))
	}
	return all, nil
}

// groupText matches a group in the output of ovs-ofctl.
var groupText = regexp.MustCompile(`group_id=(\d+)`)

// Groups returns the IDs of the groups of the bridge. Sets have no groups.
func (b Bridge) Groups(ctx context.Context) ([]string, error) {
	out, err := b.ofctl(ctx, "", "dump-groups", "unix:"+b.management())
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, m := range groupText.FindAllStringSubmatch(out, -1) {
		ids = append(ids, m[1])
	}
	return ids, nil
}

// addMeters adds or changes the meters of a set. It does not change equal meters, which keep their state. The error is a RefusedError if it is a meter of an
// owner that Open vSwitch does not add.
func (b Bridge) addMeters(ctx context.Context, set openflow.Set) error {
	live, err := b.meters(ctx)
	if err != nil {
		return err
	}
	for _, r := range set.Rates() {
		verb := "add-meter"
		if other, exists := live[r.ID]; exists {
			if other == r {
				continue
			}
			verb = "mod-meter"
		}
		if _, err := b.ofctl(ctx, "", verb, "unix:"+b.management(), r.String()); err != nil {
			if owner := set.OwnerOfMeter(r.ID); owner != "" {
				return &RefusedError{owner, err}
			}
			return err
		}
	}
	return nil
}

// removeMeters removes all meters except the desired ones. Open vSwitch also removes flows that refer to them.
func (b Bridge) removeMeters(ctx context.Context, want []openflow.Rate) error {
	live, err := b.meters(ctx)
	if err != nil {
		return err
	}
	for _, r := range want {
		delete(live, r.ID)
	}
	for id := range live {
		if _, err := b.ofctl(ctx, "", "del-meter", "unix:"+b.management(), "meter="+strconv.FormatUint(uint64(id), 10)); err != nil {
			return err
		}
	}
	return nil
}

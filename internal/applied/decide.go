package applied

// Decision says what the operator is up to when it looks at a cluster.
type Decision string

// The decisions.
const (
	// Fresh: there is no record and nothing was ever applied. There is nothing to check a change against.
	Fresh Decision = "fresh"
	// Forced: the record was deleted while a network is in use. The specification is applied without checking that
	// the change is safe, and the history says so.
	Forced Decision = "forced"
	// Resume: a rollout did not end, since the operator died or an object could not be applied.
	Resume Decision = "resume"
	// Normal: a network is applied.
	Normal Decision = "normal"
	// Recovered: record and inventory were lost together, and the history says what was applied last. Changes are checked
	// against that.
	Recovered Decision = "recovered"
	// Corrupt: the record cannot be read. Nothing new may be applied.
	Corrupt Decision = "corrupt"
)

// Found is what was found in the cluster.
type Found struct {
	// Record is true if the ConfigMap of the record exists, with whatever in it.
	Record bool
	// Data is the data of that ConfigMap.
	Data map[string]string
	// InventoryEmpty is true if the operator's inventory lists no object: nothing was ever applied.
	InventoryEmpty bool
	// History is that of the cluster, as far as it can be read.
	History History
}

// Decide says what to do, and returns the record, which is zero for Fresh and Forced. The error is a *CorruptError,
// exactly when the decision is Corrupt; the record is then what is known to be applied all the same, or zero.
//
// A caller that finds live objects of the operator although the decision is Fresh must take it for Forced.
func Decide(f Found) (Decision, Record, error) {
	if !f.Record {
		if !f.InventoryEmpty {
			return Forced, Record{}, nil
		}
		if r, ok := f.History.Applied(); ok {
			return Recovered, r, nil
		}
		if len(f.History) > 0 {
			return Forced, Record{}, nil
		}
		return Fresh, Record{}, nil
	}
	r, err := Decode(f.Data)
	switch {
	case err != nil:
		return Corrupt, salvage(f), err
	case r.Unfinished():
		return Resume, r, nil
	}
	return Normal, r, nil
}

// salvage returns what a damaged record must have said: the revision that was being rolled out, if that can be read, or
// else the one that the history says was applied last. The record is zero if neither is known: an older revision than the one
// that is half applied is no ground to stand on.
func salvage(f Found) Record {
	if State(f.Data[KeyState]) == StateApplying {
		intent, err := parse(f.Data[KeyIntent])
		if err != nil {
			return Record{}
		}
		return Record{State: StateApplying, Intent: intent}
	}
	r, _ := f.History.Applied()
	return r
}

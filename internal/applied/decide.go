package applied

// Decision is the situation in which the operator finds a cluster.
type Decision string

// The decisions.
const (
	// Fresh means that there is no record and nothing was ever applied, so that there is no base to check a change against.
	Fresh Decision = "fresh"
	// Forced means that the record was deleted while a network is in use. The specification is applied without a check of
	// the change, and the history records that.
	Forced Decision = "forced"
	// Resume means that a rollout did not finish, since the operator stopped or an object could not be applied.
	Resume Decision = "resume"
	// Normal means that a network is applied.
	Normal Decision = "normal"
	// Recovered means that record and inventory are missing, and the history has the last applied specification. Changes are
	// checked against that.
	Recovered Decision = "recovered"
	// Corrupt means that the record cannot be decoded. Nothing new may be applied.
	Corrupt Decision = "corrupt"
)

// Found is the state that was found in the cluster.
type Found struct {
	// Record is true if the ConfigMap of the record exists, with any content.
	Record bool
	// Data is the data of that ConfigMap.
	Data map[string]string
	// InventoryEmpty is true if the operator's inventory lists no object: nothing was ever applied.
	InventoryEmpty bool
	// History is that of the cluster; empty if it cannot be decoded.
	History History
}

// Decide returns the decision and the record, which is zero for Fresh and Forced. The error is a *CorruptError if and only
// if the decision is Corrupt; the record is then the recoverable part, or zero.
//
// A caller that finds live objects of the operator although the decision is Fresh must treat it as Forced.
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

// salvage returns the recoverable part of a damaged record: the revision that was being rolled out, if that can be decoded,
// or else the last applied one of the history. The record is zero if neither is known: a revision that is older than the one
// that is partly applied is no valid base.
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

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
	// Corrupt: the record cannot be read. Nothing may be applied.
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
}

// Decide says what to do, and returns the record, which is zero for Fresh and Forced. The error is a *CorruptError,
// exactly when the decision is Corrupt.
func Decide(f Found) (Decision, Record, error) {
	if !f.Record {
		if f.InventoryEmpty {
			return Fresh, Record{}, nil
		}
		return Forced, Record{}, nil
	}
	r, err := Decode(f.Data)
	switch {
	case err != nil:
		return Corrupt, Record{}, err
	case r.Unfinished():
		return Resume, r, nil
	}
	return Normal, r, nil
}

package manifest

// HasAll reports whether a map, such as the labels or the data of a live object, has all pairs of another one.
func HasAll(live, desired map[string]string) bool {
	for key, value := range desired {
		if got, ok := live[key]; !ok || got != value {
			return false
		}
	}
	return true
}

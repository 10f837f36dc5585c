package apitest

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
)

// Table prints how many of the requests there are of each verb for each path and selector, the most frequent first.
func Table(requests []Request) string {
	type group struct{ verb, path, selector string }
	count := map[group]int{}
	for _, r := range requests {
		path, query, _ := strings.Cut(r.URI, "?")
		values, err := url.ParseQuery(query)
		if err != nil { // the server has answered it nevertheless
			values = url.Values{}
		}
		selector := strings.Trim(values.Get("labelSelector")+" "+values.Get("fieldSelector"), " ")
		count[group{r.Verb, path, selector}]++
	}
	groups := slices.SortedFunc(maps.Keys(count), func(a, b group) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(a.verb, b.verb), strings.Compare(a.path, b.path), strings.Compare(a.selector, b.selector))
	})
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, g := range groups {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", count[g], g.verb, g.path, g.selector)
	}
	w.Flush()
	return out.String()
}

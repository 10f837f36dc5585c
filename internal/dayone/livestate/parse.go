package livestate

import (
	"regexp"
	"strings"
)

// Separator separates the differences in the message of a report.
const Separator = "; "

// nothing is an empty value in a line of text.
const nothing = "nothing"

// differenceLine is a line of Difference.String, after a context that ends with a colon. A subject has no spaces.
var differenceLine = regexp.MustCompile(`^(?:.*?: )?([^:\s]+): ((?:[^:]|:\S)+?) is (.+), wanted (.+)$`)

// ParseDifferences returns the differences in the message of a host's report, which is all that the cluster knows of them. It skips other text.
func ParseDifferences(message string) []Difference {
	var found []Difference
	for part := range strings.SplitSeq(message, Separator) {
		if m := differenceLine.FindStringSubmatch(part); m != nil {
			found = append(found, Difference{Subject: m[1], Aspect: m[2], Have: orEmpty(m[3]), Want: orEmpty(m[4])})
		}
	}
	return found
}

func orEmpty(s string) string {
	if s == nothing {
		return ""
	}
	return s
}

package ignition

import "github.com/vincent-petithory/dataurl"

// DataURL returns content as a URL that holds it, in the form that people can read: percent-encoded text (RFC 2397).
func DataURL(content []byte) string { return "data:text/plain," + dataurl.Escape(content) }

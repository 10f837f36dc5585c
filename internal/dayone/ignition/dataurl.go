package ignition

import "github.com/vincent-petithory/dataurl"

// DataURL returns content as a data URL of percent-encoded text (RFC 2397), which is human-readable.
func DataURL(content []byte) string { return "data:text/plain," + dataurl.Escape(content) }

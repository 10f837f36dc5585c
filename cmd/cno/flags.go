package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// accepted describes the values of flags whose errors are otherwise those of Go's parsers, by the name that pflag has for their type.
var accepted = map[string]string{
	"bool":     "true or false",
	"int":      "an integer",
	"uint16":   "an integer from 0 to 65535",
	"duration": "a duration, for example 90s or 5m",
}

// invalidFlag returns the error of a flag's value in the words of a user. Other errors are returned as they are.
func invalidFlag(_ *cobra.Command, err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	what, ok := accepted[invalid.GetFlag().Value.Type()]
	if !ok {
		return err
	}
	flag := strings.TrimSuffix(err.Error(), fmt.Sprintf(": %v", errors.Unwrap(invalid)))
	return fmt.Errorf("%s: %q is not %s", flag, invalid.GetValue(), what)
}

package roles

import (
	"errors"

	"github.com/spf13/cobra"
)

// FileArgs lets files be named without their flag, as nmstatectl does. One file is required, unless one of the other flags has a value.
func FileArgs(files *[]string, others ...*string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		*files = append(*files, args...)
		for _, other := range others {
			if *other != "" {
				return nil
			}
		}
		if len(*files) == 0 {
			return errors.New("name a file: -f FILE, or - for standard input")
		}
		return nil
	}
}

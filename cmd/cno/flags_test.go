package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every flag of every command gets a value that is of no type but text.
func TestInvalidValuesOfFlagsAreReportedWithoutTheTextsOfGo(t *testing.T) {
	refused := map[string]bool{}
	each(command("cno", never), func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			err := c.ParseFlags([]string{"--" + f.Name + "=?"})
			if err == nil {
				return
			}
			refused[f.Value.Type()] = true
			text := c.FlagErrorFunc()(c, err).Error()
			if !strings.Contains(text, "--"+f.Name) || !strings.Contains(text, `"?" is not `) || strings.Contains(text, "strconv") || strings.Contains(text, "time:") {
				t.Errorf("%s: %s", c.CommandPath(), text)
			}
		})
	})
	for kind := range accepted {
		if !refused[kind] {
			t.Errorf("no flag of type %s has an invalid value", kind)
		}
	}
}

func TestInvalidValuesOfFlags(t *testing.T) {
	for _, row := range []struct {
		why  string
		args []string
		want string
	}{
		{"too large", []string{"ui", "--port", "99999"}, `invalid argument "99999" for "--port" flag: "99999" is not an integer from 0 to 65535`},
		{"negative", []string{"ui", "--port=-1"}, `invalid argument "-1" for "--port" flag: "-1" is not an integer from 0 to 65535`},
		{"neither true nor false", []string{"ui", "--no-open=maybe"}, `invalid argument "maybe" for "--no-open" flag: "maybe" is not true or false`},
		{"a number without a unit", []string{"install", "--timeout", "5"}, `invalid argument "5" for "--timeout" flag: "5" is not a duration, for example 90s or 5m`},
		{"a type of this project", []string{"ui", "-o", "xml"}, `invalid argument "xml" for "-o, --output" flag: "xml" is not text, json or yaml`},
		{"a flag that does not exist", []string{"ui", "--prt", "1"}, "unknown flag: --prt"},
	} {
		root := command("cno", never)
		root.SetArgs(row.args)
		if err := root.ExecuteContext(t.Context()); err == nil || err.Error() != row.want {
			t.Errorf("%s: %v, want %s", row.why, err, row.want)
		}
	}
}

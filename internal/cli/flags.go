package cli

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A strict value of a flag is neither empty nor given twice, unless that means something:
// a mistake in a script must not pass for a flag that was left out, nor for another one.
type strict struct {
	pflag.Value
	list, given bool
	// empty lets the text that was given be empty, where that means something.
	empty bool
}

// mayBeEmpty marks the flags of a list that an empty text may be in.
const mayBeEmpty = "durward_may_be_empty"

func (s *strict) Set(text string) error {
	switch {
	case text == "" && !s.empty:
		return errors.New("it is empty")
	case s.given && !s.list:
		return errors.New("it is given twice")
	}
	s.given = true
	return s.Value.Set(text)
}

// makeStrict does it to all flags of a command, and of those below it, that take a value.
func makeStrict(cmd *cobra.Command) {
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" {
				return
			}
			_, empty := f.Annotations[mayBeEmpty]
			f.Value = &strict{Value: f.Value, list: f.Value.Type() == "stringArray", empty: empty}
			if f.DefValue == "[]" || f.DefValue == "0s" {
				f.DefValue = "" // the help names no default that means none
			}
		})
	}
	for _, below := range cmd.Commands() {
		makeStrict(below)
	}
}

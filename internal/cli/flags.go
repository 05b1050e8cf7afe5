package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

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
	return plainly(s.Type(), s.Value.Set(text))
}

// plainly says what a flag of that type takes instead of what could not parse it.
func plainly(kind string, err error) error {
	if number := (*strconv.NumError)(nil); !errors.As(err, &number) {
		return err
	}
	if kind == "bool" {
		return errors.New("it is neither true nor false")
	}
	return errors.New("it is no whole number, such as 10, or too large a one")
}

// flagError says in plain words what is wrong with a flag.
func flagError(err error) error {
	if wrong := (*pflag.InvalidValueError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("--%s %q: %w", wrong.GetFlag().Name, wrong.GetValue(), plainly(wrong.GetFlag().Value.Type(), wrong.Unwrap()))
	}
	return err
}

// A span is the value of a flag that takes a time: a number of seconds, or one with its unit.
type span struct{ *time.Duration }

func (s span) Type() string { return "duration" }

func (s span) Set(text string) (err error) {
	*s.Duration, err = spanOf(text)
	return err
}

// spanOf reads a time as a person gives it.
func spanOf(text string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(n) <= math.MaxInt32 {
		return time.Duration(n * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("it is no time, such as 30s, 5m or 2.5, which are seconds")
	}
	return d, nil
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

package cli

import (
	"errors"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/safetext"
)

// failure describes what came of the call in the words of the command line.
func (x *execution) failure(err error, result durward.Result, call durward.CallID) failure {
	f := failureOf(x.advised(x.timedOut(err, result)), call)
	if len(x.argv) == 0 {
		return f
	}
	whole := safetext.Line(x.argv[0])
	if short := shortened(whole); short != whole {
		f.Why, f.Fix = strings.ReplaceAll(f.Why, whole, short), strings.ReplaceAll(f.Fix, whole, short)
		for i, d := range f.Details {
			f.Details[i] = strings.ReplaceAll(d, whole, short)
		}
	}
	return f
}

// shortened cuts a name that would fill the screen.
func shortened(name string) string {
	const most = 200
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return name
}

// advised says what to do about a refusal in flags, where flags led to it.
func (x *execution) advised(err error) error {
	var e *durward.Error
	if !errors.As(err, &e) {
		return err
	}
	named := *e
	switch {
	case e.Reason == durward.ArgvEmpty && len(x.argv) > 0:
		named.Err = errors.New("the name of the program is empty")
	case e.Reason == durward.SandboxUnavailable && e.Where == (durward.Position{}) && len(x.confining()) > 0:
		named.Hint = "leave out " + strings.Join(x.confining(), ", ") + ", or run on a host that can hold it (durward doctor)"
	default:
		return err
	}
	return &named
}

// confining lists the flags that ask for confinement.
func (x *execution) confining() []string {
	var flags []string
	for _, row := range []struct {
		flag  string
		given bool
	}{
		{"--read", len(x.readPaths) > 0},
		{"--write", len(x.writePaths) > 0},
		{"--allow-net", len(x.allowNet) > 0},
		{"--level " + x.level, x.level != "" && x.level != "0"},
	} {
		if row.given {
			flags = append(flags, row.flag)
		}
	}
	return flags
}

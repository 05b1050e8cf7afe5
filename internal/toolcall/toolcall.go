// Package toolcall reads the arguments that a tool of `durward mcp` is called with.
//
//	{"commandId": "git", "args": ["status"], "cwd": "src", "stdin": "", "env": {"LANG": "C"}, "timeoutMs": 5000}
//
// Only commandId is required. A refusal is a *durward.Error of kind Invalid; it names the
// member, an argument by its place, and never a value.
package toolcall

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// The limits of a list of arguments.
const (
	MaxArgs     = 256
	MaxArgBytes = 32768
)

const op = "toolcall"

// A CmdRun is what cmd.run is asked for.
type CmdRun struct {
	CommandID string
	Args      []string
	// Dir is empty when the command's own directory is meant.
	Dir   string
	Stdin []byte
	Env   map[string]string
	// Timeout is zero when the call asks for none.
	Timeout time.Duration
}

// DecodeCmdRun reads the arguments of cmd.run from strict JSON. What the command itself
// permits is not judged here.
func DecodeCmdRun(text []byte) (CmdRun, error) {
	given, err := members(text)
	if err != nil {
		return CmdRun{}, err
	}
	var c CmdRun
	var stdin string
	var timeout json.Number
	for _, m := range []struct {
		name, want string
		into       any
	}{
		{"commandId", "a string", &c.CommandID},
		{"args", "a list of strings", &c.Args},
		{"cwd", "a string", &c.Dir},
		{"stdin", "a string", &stdin},
		{"env", "an object of strings", &c.Env},
		{"timeoutMs", "a number", &timeout},
	} {
		if err := read(given, m.name, m.want, m.into); err != nil {
			return CmdRun{}, err
		}
	}
	if given["cwd"] != nil && c.Dir == "" {
		return CmdRun{}, refuse(durward.EmptyPath, "cwd is empty")
	}
	c.Stdin = []byte(stdin)
	if c.Timeout, err = duration(timeout); err != nil {
		return CmdRun{}, err
	}
	if err := checkArgs(c.Args); err != nil {
		return CmdRun{}, err
	}
	return c, checkEnv(c.Env)
}

// known are the members of the arguments.
func known(name string) bool {
	switch name {
	case "commandId", "args", "cwd", "stdin", "env", "timeoutMs":
		return true
	}
	return false
}

// members takes the object apart, and refuses one that has too many or too few.
func members(text []byte) (map[string]json.RawMessage, error) {
	given, err := jsonx.Object(text, jsonx.Limits{Bytes: int64(len(text))})
	if err != nil {
		return nil, refuse(durward.WrongType, "the arguments are not an object")
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !known(name) {
			return nil, refuse(durward.UnknownField, "there is no member "+shown(name))
		}
	}
	if given["commandId"] == nil {
		return nil, refuse(durward.MissingField, "commandId is missing")
	}
	return given, nil
}

// shown is the name of a member on one line, and not all of a long one.
func shown(name string) string {
	const most = 64
	if len(name) > most {
		return strconv.QuoteToASCII(name[:most]) + "…"
	}
	return strconv.QuoteToASCII(name)
}

// read stores a member, if it is given, as the type that it must have.
func read(given map[string]json.RawMessage, name, want string, into any) error {
	value, ok := given[name]
	if !ok {
		return nil
	}
	if holdsNull(value, into) || json.Unmarshal(value, into) != nil {
		return refuse(durward.WrongType, name+" is not "+want)
	}
	return nil
}

// holdsNull reports whether there is a null, in the value or inside it, that would be
// taken for something empty. A number in quotes would be taken for one, too.
func holdsNull(value []byte, into any) bool {
	switch into.(type) {
	case *json.Number:
		return value[0] == '"' || value[0] == 'n'
	case *[]string:
		var list []*string
		return json.Unmarshal(value, &list) == nil && (list == nil || slices.Contains(list, nil))
	case *map[string]string:
		var object map[string]*string
		return json.Unmarshal(value, &object) == nil && (object == nil || slices.Contains(slices.Collect(maps.Values(object)), nil))
	}
	return value[0] == 'n'
}

// duration makes a time limit of a number of milliseconds, which may be written as 5e3.
// One that is longer than can be counted is as long as can be.
func duration(ms json.Number) (time.Duration, error) {
	if ms == "" {
		return 0, nil
	}
	n, whole := jsonx.Integer(string(ms))
	if n < 1 || !whole {
		return 0, refuse(durward.BadTimeout, "timeoutMs is not a whole number from 1")
	}
	if n >= int64(math.MaxInt64/time.Millisecond) {
		return math.MaxInt64, nil
	}
	return time.Duration(n) * time.Millisecond, nil
}

func checkArgs(args []string) error {
	if n := len(args); n > MaxArgs {
		return &durward.Error{Reason: durward.TooManyArgs, Op: op, Err: durward.Detail{Limit: MaxArgs, Actual: int64(n)}}
	}
	for i, arg := range args {
		if strings.IndexByte(arg, 0) >= 0 {
			return &durward.Error{Reason: durward.ArgNUL, Op: op, Err: durward.Detail{ArgIndex: &i}}
		}
		if n := len(arg); n > MaxArgBytes {
			return &durward.Error{Reason: durward.ArgTooLong, Op: op, Err: durward.Detail{ArgIndex: &i, Limit: MaxArgBytes, Actual: int64(n)}}
		}
	}
	return nil
}

var envName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z_][A-Za-z0-9_]*\z`) })

func checkEnv(env map[string]string) error {
	for name, value := range env {
		if !envName().MatchString(name) || strings.IndexByte(value, 0) >= 0 {
			return refuse(durward.BadEnvName, "env has a malformed name or value")
		}
	}
	return nil
}

func refuse(reason durward.Reason, why string) error {
	return &durward.Error{Reason: reason, Op: op, Err: errors.New(why)}
}

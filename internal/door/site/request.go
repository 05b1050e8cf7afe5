package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/jsonx"
)

// Limits of a request.
const (
	maxBodyBytes  = 1 << 20
	maxTokens     = 1024
	maxTokenBytes = 128 << 10
)

// Limits of the variables that a request brings.
const (
	maxEnvEntries    = 64
	maxEnvNameBytes  = 64
	maxEnvValueBytes = 4 << 10
	maxEnvBytes      = 16 << 10
)

// A request is the body of a POST.
type request struct {
	command []string
	env     map[string]string
}

// decode reads the body of a POST. Members that it does not know are passed over.
func decode(r *http.Request) (request, error) {
	if err := httpedge.NeedJSON(r, false); err != nil {
		return request{}, err
	}
	body, err := httpedge.ReadBody(r, maxBodyBytes)
	if err != nil {
		return request{}, err
	}
	var shape struct {
		Command []*string       `json:"command"`
		Env     json.RawMessage `json:"env"`
	}
	limits := jsonx.Limits{Bytes: maxBodyBytes}
	if err := jsonx.Decode(body, &shape, jsonx.Options{Limits: limits, IgnoreUnknown: true}); err != nil {
		return request{}, malformed(durward.BadJSON, err)
	}
	var q request
	if q.command, err = words(shape.Command); err != nil {
		return request{}, malformed(durward.BadCall, err)
	}
	if q.env, err = variables(shape.Env); err != nil {
		return request{}, err
	}
	return q, nil
}

func malformed(reason durward.Reason, err error) error {
	return &durward.Error{
		Reason: reason, Op: "decode", Err: err,
		Hint: `send an object like {"command": ["ls", "-l"], "env": {"NAME": "value"}}; env may be left out`,
	}
}

// words gives the words of a command.
func words(list []*string) ([]string, error) {
	switch {
	case list == nil:
		return nil, errors.New("command, a list of strings, is missing")
	case len(list) == 0:
		return nil, errors.New("command is empty")
	case len(list) > maxTokens:
		return nil, fmt.Errorf("command has %d words, more than %d", len(list), maxTokens)
	}
	command := make([]string, len(list))
	for i, word := range list {
		switch {
		case word == nil:
			return nil, fmt.Errorf("command[%d] is null, not a string", i)
		case len(*word) > maxTokenBytes:
			return nil, fmt.Errorf("command[%d] is over %d bytes", i, maxTokenBytes)
		case strings.ContainsRune(*word, 0):
			return nil, fmt.Errorf("command[%d] holds a NUL byte", i)
		}
		command[i] = *word
	}
	return command, nil
}

// variables reads the member env.
func variables(raw json.RawMessage) (map[string]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var shape map[string]*string
	if err := json.Unmarshal(raw, &shape); err != nil || shape == nil {
		return nil, badEnv("env must be an object of strings")
	}
	env := make(map[string]string, len(shape))
	for name, value := range shape {
		if value == nil {
			return nil, badEnv("the value of %.64q is null, not a string", name)
		}
		env[name] = *value
	}
	return env, CheckEnv(env)
}

var envName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// CheckEnv judges the form of the variables that a request brings. An error has reason
// BadEnvName.
func CheckEnv(env map[string]string) error {
	if len(env) > maxEnvEntries {
		return badEnv("%d variables are more than %d", len(env), maxEnvEntries)
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value := env[name]
		switch {
		case len(name) > maxEnvNameBytes || !envName().MatchString(name):
			return badEnv("%.64q is not a name of a variable", name)
		case len(value) > maxEnvValueBytes:
			return badEnv("the value of %s is longer than %d bytes", name, maxEnvValueBytes)
		case strings.ContainsFunc(value, unicode.IsControl):
			return badEnv("the value of %s holds a control character", name)
		}
		total += len(name) + len(value)
	}
	if total > maxEnvBytes {
		return badEnv("the variables have %d bytes, more than %d", total, maxEnvBytes)
	}
	return nil
}

func badEnv(format string, args ...any) error {
	return &durward.Error{
		Reason: durward.BadEnvName, Op: "decode", Rule: "env",
		Hint: "send few and short variables, named by letters, digits and _", Err: fmt.Errorf(format, args...),
	}
}

package worker

import (
	"errors"
	"fmt"

	"github.com/durward/durward"
	"golang.org/x/net/http/httpguts"
)

// A secret is shown to a worker and to nobody else.
type secret string

func (secret) String() string   { return "[redacted]" }
func (secret) GoString() string { return "[redacted]" }

// secret reads what a variable holds; no variable holds nothing.
func (e *Engine) secret(variable string) (secret, error) {
	if variable == "" {
		return "", nil
	}
	value, ok := e.options.Secret(variable)
	switch {
	case !ok || value == "":
		return "", noSecret(variable, errors.New("the variable with the worker's secret is not set"))
	case !httpguts.ValidHeaderFieldValue(value):
		return "", noSecret(variable, errors.New("the worker's secret holds what cannot stand in a header"))
	}
	return secret(value), nil
}

func noSecret(variable string, err error) error {
	return &durward.Error{
		Kind: durward.Unavailable, Reason: durward.ConfigInvalid, Op: op,
		Hint: fmt.Sprintf("set %s in the environment of the gateway, on one line", variable), Err: err,
	}
}

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/jsonx"
)

// Judge refuses an input of a tool that does not fit its schema; without one it must be an
// object. The error has reason InputMismatch, and in the member "errors" of its detail what does
// not fit, a []Violation. The input is one that was checked to be strict JSON.
func (s *Schema) Judge(input json.RawMessage) error {
	found := []Violation{{Keyword: "type", Message: "must be an object"}}
	if text := jsonx.TrimSpace(input); len(text) > 0 && text[0] == '{' {
		found = s.Check(input)
	}
	if len(found) == 0 {
		return nil
	}
	return &durward.Error{
		Reason: durward.InputMismatch, Op: "bind", Hint: "see the tool's input_schema",
		Err: durward.Detail{Members: map[string]any{"errors": found}, Err: errors.New(summary(found))},
	}
}

// summary says in a line what does not fit. It holds nothing of the input, whose members may
// have been given telling names: it goes to logs.
func summary(found []Violation) string {
	var keywords []string
	for _, v := range found {
		if !slices.Contains(keywords, v.Keyword) {
			keywords = append(keywords, v.Keyword)
		}
	}
	return fmt.Sprintf("the input does not fit the tool's schema in %d places: %s", len(found), strings.Join(keywords, ", "))
}

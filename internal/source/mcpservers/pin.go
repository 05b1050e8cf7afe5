package mcpservers

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/durward/durward/internal/jsonx"
)

// A Withheld is a tool that is not offered, since it is not what it was when it was pinned.
type Withheld struct {
	Server string
	// Want is the digest that was pinned, and Got that of what the server says now.
	Want, Got string
	Tool      Tool
}

// Pin gives the digest of what a caller would go by: the name, the description and the schema of
// the arguments. White space and the order of members in the schema do not count.
func Pin(t Tool) string {
	text := jsonx.AppendString([]byte{'['}, t.Name)
	text = jsonx.AppendString(append(text, ','), t.Description)
	text = append(text, ',')
	if len(t.InputSchema) == 0 {
		text = append(text, "null"...)
	}
	text = append(append(text, t.InputSchema...), ']')
	if canonical, err := jsonx.Canonical(text); err == nil {
		text = canonical
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

package mcppolicy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/durward/durward/internal/jsonx"
)

// Hash gives the digest of what the document says, as 64 hexadecimal digits: the
// SHA-256 of its canonical JSON (RFC 8785) with the defaults filled in. Comments, order,
// spelling and the machine do not change it.
func (d *Document) Hash() string { return d.hash }

func digest(fields []field) (string, error) {
	text, err := canonical(fields)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func canonical(fields []field) ([]byte, error) {
	text, err := json.Marshal(valuesOf(fields))
	if err != nil {
		return nil, err
	}
	return jsonx.Canonical(text)
}

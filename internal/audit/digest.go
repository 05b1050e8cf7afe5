package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// A digest is the SHA-256 of a line without its newline. The zero value stands before
// the first line of a chain.
type digest [sha256.Size]byte

func digestOf(line []byte) digest { return sha256.Sum256(line) }

// String gives 64 lower-case hexadecimal digits.
func (d digest) String() string { return hex.EncodeToString(d[:]) }

func parseDigest(text string) (digest, bool) {
	var d digest
	if len(text) != hex.EncodedLen(len(d)) || strings.ToLower(text) != text {
		return digest{}, false
	}
	_, err := hex.Decode(d[:], []byte(text))
	return d, err == nil
}

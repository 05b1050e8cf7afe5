package audit

import (
	"crypto/sha256"
	"encoding/hex"
)

// A digest is a SHA-256: mostly that of a line without its newline. The zero value
// stands before the first line of a chain.
type digest [sha256.Size]byte

func digestOf(content []byte) digest { return sha256.Sum256(content) }

// String gives 64 lower-case hexadecimal digits.
func (d digest) String() string { return hex.EncodeToString(d[:]) }

// isDigest reports whether text has the form of a digest.
func isDigest(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(text) == hex.EncodedLen(sha256.Size)
}

func parseDigest(text string) (digest, bool) {
	var d digest
	if !isDigest(text) {
		return digest{}, false
	}
	_, err := hex.Decode(d[:], []byte(text))
	return d, err == nil
}

package release

import (
	"errors"
	"fmt"
	"strings"

	"aead.dev/minisign"
)

// publicKey is the key that releases are signed with: the second line of a minisign public
// key. It is set when a release is linked; empty means that none is built in.
var publicKey string

// A Key is a public key of minisign.
type Key struct{ key minisign.PublicKey }

// ParseKey reads what minisign writes as minisign.pub, or its second line alone.
func ParseKey(text []byte) (*Key, error) {
	k := &Key{}
	if err := k.key.UnmarshalText(text); err != nil {
		return nil, errors.New("it is no public key of minisign")
	}
	return k, nil
}

// BuiltinKey gives the key that this program was linked with. It fails where there is none.
func BuiltinKey() (*Key, error) {
	if publicKey == "" {
		return nil, errors.New("this build knows no key that releases are signed with")
	}
	return ParseKey([]byte(publicKey))
}

// ID is what minisign calls the key, in hexadecimal digits.
func (k *Key) ID() string { return keyID(k.key.ID()) }

func keyID(id uint64) string { return fmt.Sprintf("%016X", id) }

// verify checks the signature of SHA256SUMS, and that of its trusted comment, and gives the
// version that this names.
func (k *Key) verify(text, signature []byte) (Version, error) {
	var s minisign.Signature
	if err := s.UnmarshalText(signature); err != nil {
		return "", fmt.Errorf("%s is no signature of minisign", signatureName)
	}
	if s.KeyID != k.key.ID() {
		return "", fmt.Errorf("it is signed with key %s, not with %s", keyID(s.KeyID), k.ID())
	}
	if !minisign.Verify(k.key, text, signature) {
		return "", fmt.Errorf("the signature in %s is wrong, or that of its trusted comment", signatureName)
	}
	return signedVersion(s.TrustedComment)
}

// signedVersion finds the one version that a trusted comment names.
func signedVersion(comment string) (Version, error) {
	var found []string
	for _, word := range strings.Fields(comment) {
		if v, ok := strings.CutPrefix(word, "version:"); ok {
			found = append(found, v)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("the trusted comment names %d versions, not one", len(found))
	}
	return ParseVersion(found[0])
}

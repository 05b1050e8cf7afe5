package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"
	"golang.org/x/term"
)

const (
	sumsFile      = "SHA256SUMS"
	signatureFile = "SHA256SUMS.minisig"
)

// A digest is a SHA-256 in lower-case hexadecimal digits.
type digest string

func digestOf(text []byte) digest { return digest(fmt.Sprintf("%x", sha256.Sum256(text))) }

// sumsText is what `sha256sum -c` reads, in the order of the names.
func sumsText(sums map[string]digest) []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&b, "%s  %s\n", sums[name], name)
	}
	return []byte(b.String())
}

// keys are what a release is signed with, and what its programs verify the next one with.
// The zero value is neither.
type keys struct {
	signs   bool
	private minisign.PrivateKey // where signs is set
	public  string              // in minisign's base64; empty for none
}

// readKeys reads the key that signs, if there is one. A program trusts whoever signed it, so
// another public key beside that is refused.
func readKeys(o options) (keys, error) {
	var k keys
	if o.publicKeyText != "" {
		var public minisign.PublicKey
		if err := public.UnmarshalText([]byte(o.publicKeyText)); err != nil {
			return keys{}, fmt.Errorf("%q is no public key of minisign: %w", o.publicKeyText, err)
		}
		k.public = base64Of(public)
	}
	if o.keyFile == "" {
		return k, nil
	}
	text, err := os.ReadFile(o.keyFile)
	if err != nil {
		return keys{}, err
	}
	private, err := openKey(text, func() (string, error) { return password(o) })
	if err != nil {
		return keys{}, fmt.Errorf("%s: %w", o.keyFile, err)
	}
	public := base64Of(private.Public().(minisign.PublicKey))
	if k.public != "" && k.public != public {
		return keys{}, fmt.Errorf("the public key of %s is %s: build another one in without signing, and sign %s elsewhere", o.keyFile, public, sumsFile)
	}
	return keys{signs: true, private: private, public: public}, nil
}

// base64Of gives a key as it stands on a command line.
func base64Of(key minisign.PublicKey) string {
	lines := strings.Fields(key.String())
	return lines[len(lines)-1]
}

func openKey(text []byte, password func() (string, error)) (minisign.PrivateKey, error) {
	var key minisign.PrivateKey
	if !minisign.IsEncrypted(text) {
		return key, key.UnmarshalText(text)
	}
	word, err := password()
	if err != nil {
		return key, err
	}
	return minisign.DecryptKey(word, text)
}

func password(o options) (string, error) {
	if o.passwordFile != "" {
		text, err := os.ReadFile(o.passwordFile)
		return strings.TrimRight(string(text), "\r\n"), err
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return "", errors.New("nobody can be asked for the password: name a file with RELEASE_KEY_PASSWORD_FILE")
	}
	fmt.Fprintf(os.Stderr, "password of %s: ", o.keyFile)
	text, err := term.ReadPassword(int(os.Stdin.Fd()))
	_, _ = io.WriteString(os.Stderr, "\n")
	return string(text), err
}

// sign signs the sums of a version. The same sums get the same signature.
func (k keys) sign(sums []byte, version string, when time.Time) []byte {
	trusted := fmt.Sprintf("timestamp:%d\tfile:%s\tversion:%s", when.Unix(), sumsFile, version)
	return minisign.SignWithComments(k.private, sums, trusted, "signature of durward "+version)
}

func (k keys) said() string {
	switch {
	case k.signs:
		return "signed with the key " + k.public
	case k.public != "":
		return "not signed, for the key " + k.public
	}
	return "not signed, with no key built in"
}

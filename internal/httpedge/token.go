package httpedge

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"

	"github.com/durward/durward"
)

// A Token is one credential, kept as its digest only.
type Token struct {
	// Name is what the audit log shows, behind "token:".
	Name string
	// SHA256 is the digest of the token's text.
	SHA256 [sha256.Size]byte
}

// NewToken makes a token of the text of a token file; white space around it is dropped.
// A text that could not stand in an Authorization header, such as an empty one, is
// refused.
func NewToken(name, text string) (Token, error) {
	text = strings.TrimSpace(text)
	if !isCredential(text) {
		return Token{}, &durward.Error{
			Reason: durward.BadUsage, Op: "token",
			Hint: "write one line of letters, digits and -._~+/ into the token file",
			Err:  errors.New("the token of " + clip(name) + " is empty or holds other characters than -._~+/, letters and digits"),
		}
	}
	return Token{name, sha256.Sum256([]byte(text))}, nil
}

// Tokens are the credentials that are accepted. No tokens accept nobody.
type Tokens []Token

// Authenticate finds the caller by the bearer token of the request, in a time that does
// not depend on the token. It suits [Rules].
func (t Tokens) Authenticate(r *http.Request) (durward.Caller, error) {
	credential, ok := Bearer(r)
	if !ok {
		return durward.Caller{}, refused(durward.Unauthenticated, "no bearer token")
	}
	shown := sha256.Sum256([]byte(credential))
	found := -1
	for i, token := range t {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(shown[:], token.SHA256[:]), i, found)
	}
	if found < 0 {
		return durward.Caller{}, refused(durward.Unauthenticated, "unknown bearer token")
	}
	return durward.Caller{Name: "token:" + t[found].Name, Method: "bearer"}, nil
}

// Bearer gives the credential of the one Authorization header.
func Bearer(r *http.Request) (string, bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return "", false
	}
	scheme, credential, _ := strings.Cut(headers[0], " ")
	credential = strings.TrimLeft(credential, " ")
	return credential, strings.EqualFold(scheme, "Bearer") && isCredential(credential)
}

func isCredential(text string) bool {
	for _, c := range []byte(text) {
		if !isAlphanumeric(c) && !strings.ContainsRune("-._~+/=", rune(c)) {
			return false
		}
	}
	return text != ""
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

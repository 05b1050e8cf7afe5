package execserver

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
	"github.com/durward/durward/internal/smallfile"
)

// An Auth says which credentials open a connection. It is safe for concurrent use; nil
// asks for none.
type Auth struct {
	authenticate func(*http.Request) (durward.Caller, error)
	files        []string
}

// Authenticate finds the caller by the one Authorization header of a request, or refuses
// with [durward.Unauthenticated]. The caller is "token:NAME", after the token's file or
// digest, or "bearer:SUBJECT", after the subject of a signed token.
func (a *Auth) Authenticate(r *http.Request) (durward.Caller, error) { return a.authenticate(r) }

// Files are the physical paths of the files that hold the credentials. Nothing that is
// run for a caller has any use for them.
func (a *Auth) Files() []string {
	if a == nil {
		return nil
	}
	return slices.Clone(a.files)
}

// The flags that [NewAuth] knows.
const (
	FlagAuth        = "ws-auth"
	FlagTokenFile   = "ws-token-file"
	FlagTokenSHA256 = "ws-token-sha256"
	FlagSecretFile  = "ws-shared-secret-file"
	FlagIssuer      = "ws-issuer"
	FlagAudience    = "ws-audience"
	FlagClockSkew   = "ws-max-clock-skew-seconds"
)

const (
	modeToken  = "capability-token"
	modeSigned = "signed-bearer-token"
)

const (
	maxSecretBytes  = 64 << 10
	minSecretBytes  = 32
	usualClockSkew  = 30 * time.Second
	maxClockSkew    = 24 * time.Hour
	maxSubjectBytes = 256
)

// NewAuth makes an Auth of the flags that were given, by their names without "--". One
// that was given an empty value is there, and refused. Without any flag the result is
// nil.
//
//	ws-auth=capability-token     one token, the text of ws-token-file or that with the
//	                             digest ws-token-sha256
//	ws-auth=signed-bearer-token  JSON Web Tokens, signed by HMAC (HS256, HS384, HS512)
//	                             with the text of ws-shared-secret-file, and not expired
//
// A signed token has to be of ws-issuer and for ws-audience where those are given, and
// clocks may differ by ws-max-clock-skew-seconds, 30 by default.
func NewAuth(flags map[string]string) (*Auth, error) {
	if len(flags) == 0 {
		return nil, nil
	}
	mode, given := flags[FlagAuth]
	known := flagsOf(mode)
	if known == nil {
		return nil, badMode(mode, given, flags)
	}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if name != FlagAuth && !slices.Contains(known, name) {
			return nil, badFlag("leave --"+name+" out, or choose another --"+FlagAuth, "--%s means nothing with --%s %s", name, FlagAuth, mode)
		}
		if flags[name] == "" {
			return nil, badFlag("give --"+name+" a value, or leave it out", "--%s is empty", name)
		}
	}
	if mode == modeToken {
		return tokenAuth(flags)
	}
	return signedAuth(flags)
}

// flagsOf lists the flags of a mode beside ws-auth itself; none for what is no mode.
func flagsOf(mode string) []string {
	switch mode {
	case modeToken:
		return []string{FlagTokenFile, FlagTokenSHA256}
	case modeSigned:
		return []string{FlagSecretFile, FlagIssuer, FlagAudience, FlagClockSkew}
	}
	return nil
}

func badMode(mode string, given bool, flags map[string]string) error {
	fix := fmt.Sprintf("say --%s %s or --%[1]s %[3]s", FlagAuth, modeToken, modeSigned)
	if given {
		return badFlag(fix, "--%s %q is not known", FlagAuth, mode)
	}
	first := slices.Sorted(maps.Keys(flags))[0]
	return badFlag(fix, "--%s needs --%s", first, FlagAuth)
}

func badFlag(fix, format string, args ...any) error {
	return &durward.Error{Reason: durward.BadUsage, Op: "auth", Hint: fix, Err: fmt.Errorf(format, args...)}
}

// tokenAuth accepts one token.
func tokenAuth(flags map[string]string) (*Auth, error) {
	file, digest := flags[FlagTokenFile], flags[FlagTokenSHA256]
	switch {
	case file == "" && digest == "":
		return nil, badFlag(fmt.Sprintf("add --%s FILE or --%s HEX", FlagTokenFile, FlagTokenSHA256), "--%s %s needs a token", FlagAuth, modeToken)
	case file != "" && digest != "":
		return nil, badFlag("leave one of them out", "--%s and --%s both name a token", FlagTokenFile, FlagTokenSHA256)
	case digest != "":
		return digestAuth(digest)
	}
	text, path, err := readSecret(FlagTokenFile, file)
	if err != nil {
		return nil, err
	}
	token, err := httpedge.NewToken(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), text)
	if err != nil {
		return nil, badFlag("write one line of letters, digits and -._~+/= into it", "--%s %s: it is empty or holds other characters", FlagTokenFile, file)
	}
	return &Auth{httpedge.Tokens{token}.Authenticate, []string{path}}, nil
}

func digestAuth(text string) (*Auth, error) {
	var token httpedge.Token
	digest, err := hex.DecodeString(text)
	if err != nil || len(digest) != sha256.Size {
		return nil, badFlag("give the 64 digits that this prints: printf %s TOKEN | sha256sum", "--%s %q is not a SHA-256 digest", FlagTokenSHA256, text)
	}
	copy(token.SHA256[:], digest)
	token.Name = strings.ToLower(text[:12]) // enough to know it by
	return &Auth{httpedge.Tokens{token}.Authenticate, nil}, nil
}

// readSecret reads a file that its owner alone can open, without the white space around
// its text, and gives its physical path.
func readSecret(flag, file string) (text, path string, err error) {
	raw, err := smallfile.Read(file, maxSecretBytes, smallfile.OwnerOnly(file))
	if err == nil {
		path, err = smallfile.Physical(file)
	}
	if err != nil {
		return "", "", badFlag("name a file that you alone can open, with the secret in it", "--%s %s: %w", flag, file, err)
	}
	return strings.TrimSpace(string(raw)), path, nil
}

// signedAuth accepts tokens that were signed with a shared secret.
func signedAuth(flags map[string]string) (*Auth, error) {
	file := flags[FlagSecretFile]
	if file == "" {
		return nil, badFlag(fmt.Sprintf("add --%s FILE", FlagSecretFile), "--%s %s needs a shared secret", FlagAuth, modeSigned)
	}
	skew, err := clockSkew(flags[FlagClockSkew])
	if err != nil {
		return nil, err
	}
	secret, path, err := readSecret(FlagSecretFile, file)
	if err != nil {
		return nil, err
	}
	if len(secret) < minSecretBytes {
		return nil, badFlag("make one: (umask 077; openssl rand -hex 32 > "+file+")",
			"--%s %s: it holds %d bytes, and fewer than %d can be guessed", FlagSecretFile, file, len(secret), minSecretBytes)
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods([]string{"HS256", "HS384", "HS512"}),
		jwt.WithExpirationRequired(), jwt.WithLeeway(skew), jwt.WithStrictDecoding(),
	}
	if issuer := flags[FlagIssuer]; issuer != "" {
		options = append(options, jwt.WithIssuer(issuer))
	}
	if audience := flags[FlagAudience]; audience != "" {
		options = append(options, jwt.WithAudience(audience))
	}
	s := signed{jwt.NewParser(options...), []byte(secret)}
	return &Auth{s.authenticate, []string{path}}, nil
}

func clockSkew(text string) (time.Duration, error) {
	seconds, err := strconv.ParseUint(cmp.Or(text, strconv.Itoa(int(usualClockSkew/time.Second))), 10, 32)
	skew := time.Duration(seconds) * time.Second
	if err != nil || skew > maxClockSkew {
		return 0, badFlag("give a whole number of seconds up to 86400", "--%s %q is not that", FlagClockSkew, text)
	}
	return skew, nil
}

// A signed knows tokens by their signature.
type signed struct {
	parser *jwt.Parser
	secret []byte
}

func (s signed) authenticate(r *http.Request) (durward.Caller, error) {
	text, ok := httpedge.Bearer(r)
	if !ok {
		return durward.Caller{}, denied(errors.New("no bearer token"))
	}
	var claims jwt.RegisteredClaims
	if _, err := s.parser.ParseWithClaims(text, &claims, s.key); err != nil {
		return durward.Caller{}, denied(err)
	}
	name := "bearer"
	if claims.Subject != "" {
		if !isShown(claims.Subject) {
			return durward.Caller{}, denied(errors.New("a subject that cannot be shown"))
		}
		name += ":" + claims.Subject
	}
	return durward.Caller{Name: name, Method: "bearer"}, nil
}

// key gives the secret for a token without demands that nobody here understands.
func (s signed) key(t *jwt.Token) (any, error) {
	if _, critical := t.Header["crit"]; critical {
		return nil, errors.New("a token with critical extensions")
	}
	return s.secret, nil
}

// isShown reports whether a subject can stand in a log.
func isShown(text string) bool {
	return len(text) <= maxSubjectBytes && utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func denied(err error) error {
	return &durward.Error{Reason: durward.Unauthenticated, Op: "auth", Err: err}
}

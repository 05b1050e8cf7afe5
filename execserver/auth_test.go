package execserver

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/durward/durward"
)

const secret = "0123456789abcdef0123456789abcdef"

// keep writes a file and gives its name.
func keep(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// TestFlags says of each set of flags what is wrong with it, and what to do.
func TestFlags(t *testing.T) {
	token, key := keep(t, "ci.token", "secret\n", 0o600), keep(t, "key", secret, 0o400)
	for name, test := range map[string]struct {
		flags    map[string]string
		why, fix string // both empty where nothing is wrong
	}{
		"none":                  {nil, "", ""},
		"a token":               {map[string]string{FlagAuth: modeToken, FlagTokenFile: token}, "", ""},
		"a digest":              {map[string]string{FlagAuth: modeToken, FlagTokenSHA256: digest("secret")}, "", ""},
		"a digest in capitals":  {map[string]string{FlagAuth: modeToken, FlagTokenSHA256: strings.ToUpper(digest("secret"))}, "", ""},
		"a secret":              {map[string]string{FlagAuth: modeSigned, FlagSecretFile: key}, "", ""},
		"all of it":             {map[string]string{FlagAuth: modeSigned, FlagSecretFile: key, FlagIssuer: "i", FlagAudience: "a", FlagClockSkew: "0"}, "", ""},
		"no mode":               {map[string]string{FlagTokenFile: token}, "--ws-token-file needs --ws-auth", "--ws-auth capability-token"},
		"an empty mode":         {map[string]string{FlagAuth: ""}, `--ws-auth "" is not known`, "--ws-auth signed-bearer-token"},
		"another mode":          {map[string]string{FlagAuth: "none"}, `--ws-auth "none" is not known`, "--ws-auth capability-token"},
		"neither":               {map[string]string{FlagAuth: modeToken}, "needs a token", "--ws-token-file FILE or --ws-token-sha256 HEX"},
		"both":                  {map[string]string{FlagAuth: modeToken, FlagTokenFile: token, FlagTokenSHA256: digest("x")}, "both name a token", "leave one"},
		"an empty file name":    {map[string]string{FlagAuth: modeToken, FlagTokenFile: ""}, "--ws-token-file is empty", "a value"},
		"a flag of the other":   {map[string]string{FlagAuth: modeToken, FlagTokenFile: token, FlagIssuer: "i"}, "--ws-issuer means nothing with --ws-auth capability-token", "leave --ws-issuer out"},
		"and the other way":     {map[string]string{FlagAuth: modeSigned, FlagSecretFile: key, FlagTokenFile: token}, "--ws-token-file means nothing", "leave --ws-token-file out"},
		"no secret":             {map[string]string{FlagAuth: modeSigned, FlagIssuer: "i"}, "needs a shared secret", "--ws-shared-secret-file FILE"},
		"an empty issuer":       {map[string]string{FlagAuth: modeSigned, FlagSecretFile: key, FlagIssuer: ""}, "--ws-issuer is empty", "leave it out"},
		"a short digest":        {map[string]string{FlagAuth: modeToken, FlagTokenSHA256: digest("x")[1:]}, "not a SHA-256 digest", "sha256sum"},
		"a digest of other":     {map[string]string{FlagAuth: modeToken, FlagTokenSHA256: "x" + digest("x")[1:]}, "not a SHA-256 digest", "sha256sum"},
		"a negative skew":       {map[string]string{FlagAuth: modeSigned, FlagSecretFile: key, FlagClockSkew: "-1"}, `"-1" is not that`, "86400"},
		"a skew of a century":   {map[string]string{FlagAuth: modeSigned, FlagSecretFile: key, FlagClockSkew: "3153600000"}, "is not that", "86400"},
		"a skew with a unit":    {map[string]string{FlagAuth: modeSigned, FlagSecretFile: key, FlagClockSkew: "30s"}, "is not that", "86400"},
		"no file":               {map[string]string{FlagAuth: modeToken, FlagTokenFile: token + "x"}, "no such file", "a file"},
		"a folder":              {map[string]string{FlagAuth: modeToken, FlagTokenFile: filepath.Dir(token)}, "no regular file", "a file"},
		"an empty token":        {map[string]string{FlagAuth: modeToken, FlagTokenFile: keep(t, "t", "\n", 0o600)}, "empty", "one line"},
		"two tokens":            {map[string]string{FlagAuth: modeToken, FlagTokenFile: keep(t, "t", "a\nb\n", 0o600)}, "other characters", "one line"},
		"a token of the group":  {map[string]string{FlagAuth: modeToken, FlagTokenFile: keep(t, "t", "secret", 0o640)}, "others can open it (mode 0640)", "you alone"},
		"a token of everybody":  {map[string]string{FlagAuth: modeToken, FlagTokenFile: keep(t, "t", "secret", 0o604)}, "chmod 600", "you alone"},
		"a secret of the group": {map[string]string{FlagAuth: modeSigned, FlagSecretFile: keep(t, "t", secret, 0o660)}, "others can open it", "you alone"},
		"a short secret":        {map[string]string{FlagAuth: modeSigned, FlagSecretFile: keep(t, "t", secret[1:]+"\n\n", 0o600)}, "holds 31 bytes", "openssl rand"},
		"a huge secret":         {map[string]string{FlagAuth: modeSigned, FlagSecretFile: keep(t, "t", strings.Repeat("x", 65<<10), 0o600)}, "is over", "you alone"},
	} {
		auth, err := NewAuth(test.flags)
		if test.why == "" {
			if err != nil || (auth == nil) != (len(test.flags) == 0) {
				t.Errorf("%s: %v, %v", name, auth, err)
			}
			continue
		}
		e := durward.AsError(err)
		if auth != nil || e == nil || e.Reason != durward.BadUsage || !strings.Contains(e.Error(), test.why) || !strings.Contains(e.Hint, test.fix) {
			t.Errorf("%s: %v; fix: %v", name, err, e)
		}
	}
}

// asked is what a request with this credential comes to: the caller's name, or "" where
// it is refused.
func asked(t *testing.T, auth *Auth, headers ...string) string {
	t.Helper()
	caller, err := auth.Authenticate(&http.Request{Header: http.Header{"Authorization": headers}})
	if err == nil && caller.Method == "bearer" {
		return caller.Name
	}
	if durward.ReasonOf(err) != durward.Unauthenticated || caller != (durward.Caller{}) {
		t.Errorf("%q: %v, %v", headers, caller, err)
	}
	return ""
}

func must(t *testing.T, flags map[string]string) *Auth {
	t.Helper()
	auth, err := NewAuth(flags)
	if err != nil {
		t.Fatal(err)
	}
	return auth
}

func TestCapabilityTokens(t *testing.T) {
	file := keep(t, "ci.token", "secret\r\n", 0o600)
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		t.Fatal(err)
	}
	byFile := must(t, map[string]string{FlagAuth: modeToken, FlagTokenFile: file})
	byDigest := must(t, map[string]string{FlagAuth: modeToken, FlagTokenSHA256: strings.ToUpper(digest("secret"))})
	if files := byFile.Files(); len(files) != 1 || files[0] != real {
		t.Errorf("files %q", files)
	}
	if files := append(byDigest.Files(), (*Auth)(nil).Files()...); len(files) != 0 {
		t.Errorf("files %q", files)
	}
	for name, auth := range map[string]*Auth{"token:ci": byFile, "token:2bb80d537b1d": byDigest} {
		for _, good := range []string{"Bearer secret", "bearer secret", "BEARER  secret"} {
			if got := asked(t, auth, good); got != name {
				t.Errorf("%q: %q, want %q", good, got, name)
			}
		}
		for _, bad := range [][]string{
			nil,
			{""},
			{"secret"},
			{"Bearer"},
			{"Bearer "},
			{"Bearer secre"},
			{"Bearer secrett"},
			{"Bearer Secret"},
			{"Bearer secret "},
			{"Basic secret"},
			{"Bearer secret, Bearer secret"},
			{"Bearer secret", "Bearer secret"},
			{"Bearer " + digest("secret")},
		} {
			if got := asked(t, auth, bad...); got != "" {
				t.Errorf("%q: %q", bad, got)
			}
		}
	}
}

// TestSignedTokens tries what others took for a signature, too.
func TestSignedTokens(t *testing.T) {
	const minute = time.Minute
	file := keep(t, "key", secret+"\n", 0o600)
	claims := func(change map[string]any) jwt.MapClaims {
		c := jwt.MapClaims{"exp": time.Now().Add(minute).Unix(), "sub": "ann", "iss": "us", "aud": "durward"}
		for name, value := range change {
			if c[name] = value; value == nil {
				delete(c, name)
			}
		}
		return c
	}
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	signed := func(method jwt.SigningMethod, key any, c jwt.Claims, headers map[string]any) string {
		token := jwt.NewWithClaims(method, c)
		maps.Copy(token.Header, headers)
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	by := func(change map[string]any) string {
		return signed(jwt.SigningMethodHS256, []byte(secret), claims(change), nil)
	}
	pair, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := by(nil)
	parts := strings.Split(good, ".")
	last := parts[2][:len(parts[2])-1]
	for name, test := range map[string]struct{ token, caller string }{
		"good":                          {good, "bearer:ann"},
		"HS384":                         {signed(jwt.SigningMethodHS384, []byte(secret), claims(nil), nil), "bearer:ann"},
		"HS512":                         {signed(jwt.SigningMethodHS512, []byte(secret), claims(nil), nil), "bearer:ann"},
		"no subject":                    {by(map[string]any{"sub": nil}), "bearer"},
		"one of several audiences":      {by(map[string]any{"aud": []string{"others", "durward"}}), "bearer:ann"},
		"valid for a while":             {by(map[string]any{"nbf": in(-minute)}), "bearer:ann"},
		"expired within the skew":       {by(map[string]any{"exp": in(-5 * time.Second)}), "bearer:ann"},
		"not valid yet within the skew": {by(map[string]any{"nbf": in(5 * time.Second)}), "bearer:ann"},
		"expired":                       {by(map[string]any{"exp": in(-15 * time.Second)}), ""},
		"without an end":                {by(map[string]any{"exp": nil}), ""},
		"an end that is no number":      {by(map[string]any{"exp": "never"}), ""},
		"not valid yet":                 {by(map[string]any{"nbf": in(15 * time.Second)}), ""},
		"another issuer":                {by(map[string]any{"iss": "them"}), ""},
		"no issuer":                     {by(map[string]any{"iss": nil}), ""},
		"another audience":              {by(map[string]any{"aud": "durward2"}), ""},
		"no audience":                   {by(map[string]any{"aud": nil}), ""},
		"a subject for a terminal":      {by(map[string]any{"sub": "ann\x1b[2J"}), ""},
		"a subject without an end":      {by(map[string]any{"sub": strings.Repeat("x", 257)}), ""},
		"another key":                   {signed(jwt.SigningMethodHS256, []byte(strings.ToUpper(secret)), claims(nil), nil), ""},
		"the key with its line end":     {signed(jwt.SigningMethodHS256, []byte(secret+"\n"), claims(nil), nil), ""},
		"none":                          {signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims(nil), nil), ""},
		"no signature":                  {parts[0] + "." + parts[1] + ".", ""},
		"two parts":                     {parts[0] + "." + parts[1], ""},
		"RSA":                           {signed(jwt.SigningMethodRS256, pair, claims(nil), nil), ""},
		"PSS":                           {signed(&jwt.SigningMethodRSAPSS{SigningMethodRSA: jwt.SigningMethodPS256.SigningMethodRSA, Options: &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto, Hash: crypto.SHA256}}, pair, claims(nil), nil), ""},
		"another name of a method":      {signed(jwt.SigningMethodHS256, []byte(secret), claims(nil), map[string]any{"alg": "hs256"}), ""},
		"a method that is no name":      {signed(jwt.SigningMethodHS256, []byte(secret), claims(nil), map[string]any{"alg": 256}), ""},
		"an extension":                  {signed(jwt.SigningMethodHS256, []byte(secret), claims(nil), map[string]any{"crit": []string{"exp"}}), ""},
		"another text":                  {parts[0] + "." + strings.Split(by(map[string]any{"sub": "bob"}), ".")[1] + "." + parts[2], ""},
		"a shorter signature":           {parts[0] + "." + parts[1] + "." + last, ""},
		"white space":                   {parts[0] + " ." + parts[1] + "." + parts[2], ""},
		"dots":                          {"...", ""},
		"many dots":                     {strings.Repeat(".", 60<<10), ""},
	} {
		auth := must(t, map[string]string{FlagAuth: modeSigned, FlagSecretFile: file, FlagIssuer: "us", FlagAudience: "durward", FlagClockSkew: "10"})
		if got := asked(t, auth, "Bearer "+test.token); got != test.caller {
			t.Errorf("%s: %q, want %q", name, got, test.caller)
		}
	}
	plain := must(t, map[string]string{FlagAuth: modeSigned, FlagSecretFile: file})
	for name, test := range map[string]struct{ token, caller string }{
		"for others, where nobody asks": {by(map[string]any{"iss": "them", "aud": "others"}), "bearer:ann"},
		"expired within the usual skew": {by(map[string]any{"exp": in(-25 * time.Second)}), "bearer:ann"},
		"expired":                       {by(map[string]any{"exp": in(-35 * time.Second)}), ""},
	} {
		if got := asked(t, plain, "Bearer "+test.token); got != test.caller {
			t.Errorf("%s: %q, want %q", name, got, test.caller)
		}
	}
	if got := asked(t, plain); got != "" {
		t.Errorf("without a token: %q", got)
	}
}

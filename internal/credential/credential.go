// Package credential tells which texts look like secrets, by their names and by their form.
//
//	API_KEY=…, Authorization: …       by the name
//	ghp_…, sk-…, eyJ….eyJ….…          by the form, whatever the name is
//	https://h/?api_key=…              by the name, in a URL
//
// It is a guess that errs on the side of caution: a text that only refers to a variable is none.
package credential

import (
	"regexp"
	"strings"
	"sync"
)

// leastBytes is the length of the shortest text that is taken for a secret by its name.
const leastBytes = 6

// Looks reports whether the value of a variable or a header looks like a secret.
func Looks(name, value string) bool {
	if strings.Contains(value, "${") {
		return false
	}
	return Formed(value) || len(value) >= leastBytes && !isPlace(value) && namesSecret(name, value)
}

// Formed reports whether a text holds something of the form that a service gives its secrets.
func Formed(text string) bool { return mayBeFormed(text) && forms().MatchString(text) }

// Plain reports whether a text is a number or a word, which says too much where it stands by chance to
// be taken out wherever it does.
func Plain(text string) bool {
	lower := strings.ToLower(text)
	return strings.Trim(text, "0123456789") == "" || strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz") == "" && (text[1:] == lower[1:] || text == strings.ToUpper(text))
}

// Variable makes the name of a variable that may hold what is called so.
func Variable(text string) string {
	name := strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(text))
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// isPlace reports whether a value says where a secret is, or that there is one.
func isPlace(value string) bool {
	switch strings.ToLower(value) {
	case "enabled", "disabled", "required", "default":
		return true
	}
	return strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~/") || strings.HasPrefix(value, "./") || strings.HasPrefix(value, "../")
}

// namesSecret reports whether one of the words in a name is one for secrets, or for several of them, in
// which case a number only counts something.
func namesSecret(name, value string) bool {
	words := wordsOf(name)
	for i, w := range words {
		last := i == len(words)-1
		switch {
		case isSecret(w), w == "pass" && last, strings.HasPrefix(w, "conn") && isConnection(strings.Join(words[i:], "")):
			return true
		case last && isSecret(strings.TrimSuffix(w, "s")) && strings.Trim(value, "0123456789") != "":
			return true
		}
	}
	return false
}

// wordsOf gives the words of a name: API_KEY, X-Api-Key, apiKey and APIKey have the same.
func wordsOf(name string) []string {
	name = strings.ToLower(camel().ReplaceAllString(name, "${1}${3}_${2}${4}"))
	return strings.FieldsFunc(name, func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9') })
}

// camel finds where a word begins without a mark before it.
var camel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])") })

// isSecret reports whether a word is one for secrets, or ends in one.
func isSecret(word string) bool {
	switch word {
	case "key", "passwd", "pwd", "pw", "otp", "passphrase", "auth", "authorization", "credential", "pat", "bearer", "cookie", "dsn", "private", "jwt":
		return true
	}
	for _, end := range []string{"token", "secret", "password", "apikey", "secretkey", "accesskey", "privatekey", "accountkey"} {
		if strings.HasSuffix(word, end) {
			return true
		}
	}
	return false
}

// isConnection reports whether the end of a name is that of what databases are reached by.
func isConnection(end string) bool {
	switch end {
	case "conn", "connstr", "connstring", "connectionstring":
		return true
	}
	return false
}

// mayBeFormed is false only where no form is found: each has one of a few short texts in it, which
// are looked for much faster than the forms.
func mayBeFormed(text string) bool {
	for _, mark := range marks {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return strings.Contains(strings.ToLower(text), "bearer")
}

var marks = []string{
	"sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "AKIA", "ASIA", "AIza", "hf_", "npm_", "fc-", "ntn_",
	"eyJ", "PRIVATE KEY", "://",
}

// forms are those of services that mark their secrets, of tokens in three parts (JWT), of private
// keys, of bearers, and of URLs with a password.
var forms = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(sk|pk|rk)[-_](live|test|proj|ant|or)?[-_]?[A-Za-z0-9_-]{16,}` +
		`|\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_[A-Za-z0-9_]{16,}|\bglpat-[A-Za-z0-9_-]{16,}|\bxox[abeprs]-[A-Za-z0-9-]{10,}` +
		`|\bA(KI|SI)A[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\bhf_[A-Za-z0-9]{16,}|\bnpm_[A-Za-z0-9]{16,}|\bfc-[a-f0-9]{24,}|\bntn_[A-Za-z0-9]{20,}` +
		`|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.|-----BEGIN [A-Z ]*PRIVATE KEY` +
		`|(?i:\bbearer +[A-Za-z0-9._~+/-]{8,})|://[^/\s:@]*:[^/\s@]{3,}@`)
})

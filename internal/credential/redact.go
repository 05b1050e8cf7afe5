package credential

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

const redacted = "[redacted]"

// Secrets are texts that are to be told to nobody, the longest first: one may be the beginning of
// another.
type Secrets []string

// SecretsIn gives the values of the variables in each environment that look like a secret, and what
// is a secret in those that are URLs.
func SecretsIn(environments ...map[string]string) (s Secrets) {
	for _, env := range environments {
		for name, value := range env {
			if s = append(s, inURL(value)...); Looks(name, value) {
				s = append(s, partsOf(value)...)
			}
		}
	}
	slices.SortFunc(s, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(s)
}

// Redact puts a word in the place of the secrets in a text, and of everything that has the form of
// one.
func (s Secrets) Redact(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return forms().ReplaceAllString(text, redacted)
}

// Longest is how many bytes the longest of them has, or what is known by its form alone.
func (s Secrets) Longest() int {
	const form = 512
	if len(s) == 0 {
		return form
	}
	return max(len(s[0]), form)
}

// Redact is for secrets that are used once.
func Redact(text string, environments ...map[string]string) string {
	return SecretsIn(environments...).Redact(text)
}

// partsOf gives a secret as it is, and what a program may tell of it: its lines, without white space
// around them, and what follows the word that says how it is to be used, as in "Bearer …".
func partsOf(value string) []string {
	parts := []string{value}
	for line := range strings.Lines(value) {
		line = strings.TrimSpace(line)
		_, bare, _ := strings.Cut(line, " ")
		parts = append(parts, line, bare)
	}
	return slices.DeleteFunc(parts, func(part string) bool { return len(part) < leastBytes })
}

// inURL gives the password of a URL, and the values in its query that look like a secret, decoded
// and not.
func inURL(text string) (list []string) {
	u, err := url.Parse(text)
	if err != nil || !strings.Contains(text, "://") {
		return nil
	}
	if password, ok := u.User.Password(); ok && len(password) >= leastBytes {
		list = append(list, password)
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, coded, _ := strings.Cut(pair, "=")
		if value, err := url.QueryUnescape(coded); err == nil && Looks(name, value) {
			list = append(list, coded, value)
		}
	}
	return list
}

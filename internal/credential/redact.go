package credential

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

const redacted = "[redacted]"

// Secrets are texts that are to be told to nobody, the longest first: one may be the beginning of
// another.
type Secrets []string

// SecretsIn gives the values of the variables in each environment that look like a secret, and what
// is a secret in those that are URLs or lists.
func SecretsIn(environments ...map[string]string) (s Secrets) {
	for _, env := range environments {
		for name, value := range env {
			if s = append(append(s, inURL(value)...), inList(value)...); Looks(name, value) {
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
	if !mayBeFormed(text) {
		return text
	}
	return forms().ReplaceAllString(text, redacted)
}

// Cut gives where a text that goes on can be cut: no secret lies across that place, nor one that the
// text may end within. Behind it are [Secrets.Longest] bytes at least, if there are so many. It is 0 where
// one secret is all there is.
func (s Secrets) Cut(text string) int {
	cut := max(len(text)-s.Longest(), 0)
	for _, at := range s.places(text) {
		if at[0] < cut && (cut < at[1] || at[1] == len(text)) {
			cut = at[0]
		}
	}
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return cut
}

// places gives where the secrets begin and end, the last one first.
func (s Secrets) places(text string) [][]int {
	var all [][]int
	if mayBeFormed(text) {
		all = forms().FindAllStringIndex(text, -1)
	}
	for _, secret := range s {
		for from := 0; ; from++ {
			at := strings.Index(text[from:], secret)
			if at < 0 {
				break
			}
			from += at
			all = append(all, []int{from, from + len(secret)})
		}
	}
	slices.SortFunc(all, func(a, b []int) int { return b[0] - a[0] })
	return all
}

// Longest is how many bytes the longest of them has, or what is known by its form alone.
func (s Secrets) Longest() int {
	const form = 8 << 10
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
	if password, ok := u.User.Password(); ok && len(password) >= leastBytes && password != u.User.Username() {
		list = append(list, password, codedPassword(text))
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, coded, _ := strings.Cut(pair, "=")
		if value, err := url.QueryUnescape(coded); err == nil && Looks(name, value) {
			list = append(list, coded, value)
		}
	}
	return list
}

// inList gives the values that look like a secret in a list as databases are reached by:
//
//	Server=host;User Id=me;Password=VALUE
func inList(text string) (list []string) {
	for pair := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(pair, "=")
		if value = strings.TrimSpace(value); len(pair) < len(text) && Looks(strings.TrimSpace(name), value) {
			list = append(list, value)
		}
	}
	return list
}

// codedPassword gives the password of a URL as it stands there.
func codedPassword(text string) string {
	_, rest, _ := strings.Cut(text, "://")
	user := rest[:strings.LastIndexByte(rest[:strings.IndexAny(rest+"/", "/?#")], '@')]
	_, password, _ := strings.Cut(user, ":")
	return password
}

package credential

import (
	"net/url"
	"slices"
	"strings"
)

// InArgument takes an argument of a command apart if it looks as though it held a secret: into what
// stands before that, which may be nothing, and the secret. before is the argument before it, or
// empty.
//
//	--api-key=VALUE   --token VALUE   API_KEY=VALUE   X-Api-Key: VALUE   https://host/?api_key=VALUE   Server=host;Password=VALUE
func InArgument(before, arg string) (prefix, secret string, ok bool) {
	if strings.Contains(arg, "${") {
		return "", "", false
	}
	if at := strings.IndexAny(arg, "=:"); at > 0 && !strings.HasPrefix(arg[at:], "://") {
		value := strings.TrimLeft(arg[at+1:], " ")
		if prefix = arg[:len(arg)-len(value)]; Looks(arg[:at], value) || InURL(value) {
			return prefix, value, true
		}
	}
	if InURL(arg) || strings.HasPrefix(before, "-") && !strings.HasPrefix(arg, "-") && Looks(before, arg) {
		return "", arg, true
	}
	return "", arg, Formed(arg) || inList(arg) != nil
}

// InURL reports whether a text is a URL that holds a password, or what looks like a secret in its
// query.
func InURL(text string) bool {
	u, err := url.Parse(text)
	switch {
	case strings.Contains(text, "${") || !strings.Contains(text, "://"):
		return false
	case err != nil || Formed(text):
		return Formed(text)
	}
	for name, values := range u.Query() {
		if slices.ContainsFunc(values, func(value string) bool { return Looks(name, value) }) {
			return true
		}
	}
	return false
}

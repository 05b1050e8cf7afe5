package pathguard

import (
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
)

// readings gives the paths that a text may be to another program, first the one that is meant, or
// the rule that refuses how it is written.
func (g *Guard) readings(text string) (paths []string, rule string) {
	plain, rule := plainPath(text)
	if rule != "" {
		return nil, rule
	}
	paths = []string{plain}
	if plain != text {
		paths = append(paths, text) // Not every program knows URIs of files: to others one is a relative path.
	}
	says := g.decodedBelow(plain)
	switch {
	case says == plain:
		return paths, ""
	case goesUp(says):
		return nil, "encodedTraversal"
	}
	more, rule := g.readings(says)
	return append(paths, more...), rule
}

// plainPath gives the path that is meant, or the rule that refuses how it is written.
func plainPath(path string) (plain, rule string) {
	switch {
	case strings.HasPrefix(path, "~"):
		return "", "tilde"
	case len(path) >= 5 && strings.EqualFold(path[:5], "file:"):
		if path, rule = fromFileURI(path); rule != "" {
			return "", rule
		}
	}
	switch {
	case strings.IndexByte(path, 0) >= 0:
		return "", "nulInPath"
	case strings.Contains(path, `\`) && goesUp(path):
		return "", "backslashTraversal"
	}
	return path, ""
}

func fromFileURI(uri string) (path, rule string) {
	if after, ok := strings.CutPrefix(uri[len("file:"):], "//"); ok {
		host := after[:strings.IndexAny(after+"/", "/?#")]
		if host != "" && !strings.EqualFold(host, "localhost") {
			return "", "fileUriHost"
		}
	}
	u, err := url.Parse(uri)
	if err != nil || !strings.HasPrefix(u.Path, "/") || strings.ContainsAny(uri, "?#") {
		return "", "fileUriForm"
	}
	return u.Path, ""
}

// decodedBelow decodes a path but for the root that it begins with: the name of that is the
// owner's, and may have percent signs.
func (g *Guard) decodedBelow(path string) string {
	root := g.roots[0].path + "/"
	if below, ok := strings.CutPrefix(path, root); ok {
		return root + decoded(below)
	}
	return decoded(path)
}

// decoded gives what is left when every "%2e" has become the byte that it stands for, also those
// that come about by it. What only looks like one stays. A ".." that one of the steps on the way
// has is in what is left, too.
func decoded(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	says := make([]byte, 0, len(text))
	for _, c := range []byte(text) {
		says = append(says, c)
		for n := len(says) - 3; n >= 0 && says[n] == '%'; n = len(says) - 3 {
			if _, err := hex.Decode(says[n:], says[n+1:]); err != nil {
				break
			}
			says = says[:n+1]
		}
	}
	return string(says)
}

// GoesUp reports whether a component of a text is "..", however it is written.
func GoesUp(text string) bool { return goesUp(decoded(text)) }

// goesUp reports whether a component of a path is "..", also to who takes a backslash for a slash.
func goesUp(path string) bool {
	return slices.Contains(strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' }), "..")
}

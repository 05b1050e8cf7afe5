// Package fileuri reads and writes absolute paths in the two forms that clients of the
// exec server use: as they are, and as URIs of the scheme "file" (RFC 8089).
//
//	path = "/" *byte
//	uri  = "file:" [ "//" [ "localhost" ] ] "/" *( byte | "%" hex hex )
//
// "%2F" is a slash like any other, and bytes that are not UTF-8 stay as they are. In both
// forms "." and ".." are resolved by their spelling alone, before anything is looked at:
// "/a/link/../b" is "/a/b", whatever "link" is.
package fileuri

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/durward/durward"
)

// scheme is compared without regard to case.
const scheme = "file:"

// Parse gives the cleaned path that a text names, and whether it was written as a URI. An
// error has reason BadPath, or PathElsewhere where the URI names another host.
func Parse(text string) (name string, isURI bool, err error) {
	name = text
	if isURI = hasScheme(text); isURI {
		if name, err = pathOf(text[len(scheme):]); err != nil {
			return "", true, err
		}
	}
	switch {
	case !strings.HasPrefix(name, "/"):
		return "", isURI, bad("it is neither an absolute path nor a file: URI")
	case strings.IndexByte(name, 0) >= 0:
		return "", isURI, bad("it holds a NUL byte")
	}
	return path.Clean(name), isURI, nil
}

func hasScheme(text string) bool {
	return len(text) >= len(scheme) && strings.EqualFold(text[:len(scheme)], scheme)
}

// pathOf gives the decoded path of what follows the scheme.
func pathOf(rest string) (string, error) {
	if strings.ContainsAny(rest, "?#") {
		return "", bad("the URI has a query or a fragment")
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		host, _, _ := strings.Cut(after, "/")
		if host != "" && !strings.EqualFold(host, "localhost") {
			return "", &durward.Error{Reason: durward.PathElsewhere, Op: "path", Err: errors.New("the URI names a host that is not this one")}
		}
		rest = after[len(host):]
	}
	return decode(rest)
}

// decode resolves the percent signs.
func decode(text string) (string, error) {
	if !strings.Contains(text, "%") {
		return text, nil
	}
	decoded := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			decoded = append(decoded, text[i])
			continue
		}
		if i+2 >= len(text) || unhex(text[i+1]) < 0 || unhex(text[i+2]) < 0 {
			return "", bad("a % in the URI is not followed by two hexadecimal digits")
		}
		decoded = append(decoded, byte(unhex(text[i+1])<<4|unhex(text[i+2])))
		i += 2
	}
	return string(decoded), nil
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func bad(why string) error {
	return &durward.Error{
		Reason: durward.BadPath, Op: "path", Hint: "write it as /a/b or as file:///a/b",
		Err: fmt.Errorf("the path is malformed: %s", why),
	}
}

// Format gives an absolute path as a URI. [Parse] gives the same path back if it is clean.
func Format(name string) string {
	const digits = "0123456789ABCDEF"
	text := append(make([]byte, 0, len(scheme)+2+len(name)+8), scheme+"//"...)
	for i := range len(name) {
		if c := name[i]; isPlain(c) {
			text = append(text, c)
		} else {
			text = append(text, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(text)
}

// isPlain reports whether a byte stands for itself in the path of a URI.
func isPlain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~!$&'()*+,;=:@/", c) >= 0
}

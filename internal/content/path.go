package content

import (
	"errors"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/durward/durward"
)

// CleanPath judges the path of a request, percent-decoded and without the one slash it
// begins with, before anything is looked up. It gives the path without needless
// slashes; "" is the root.
//
// A path that could lead out has reason OutsideRoot, whether or not there is such a
// file; a hidden one has FileNotFound.
func CleanPath(path string) (string, error) { return cleanPath(path, runtime.GOOS == "windows") }

func cleanPath(path string, windows bool) (string, error) {
	switch {
	case strings.ContainsRune(path, 0), strings.Contains(path, `\`), !utf8.ValidString(path):
		return "", outside("the path holds a NUL byte, a backslash or bytes that are not UTF-8")
	case strings.HasPrefix(path, "/"):
		return "", outside("the path is absolute")
	case strings.Contains(path, ".."):
		return "", outside(`the path holds ".."`)
	}
	var kept []string
	for segment := range strings.SplitSeq(path, "/") {
		switch {
		case segment == "":
			continue
		case isHidden(segment) && (len(kept) > 0 || segment != wellKnown):
			return "", notFound()
		}
		kept = append(kept, segment)
	}
	for _, segment := range kept {
		if windows && oddOnWindows(segment) {
			return "", outside("the path names a drive or a device")
		}
	}
	return strings.Join(kept, "/"), nil
}

// wellKnown is the one hidden name that is served, at the root.
const wellKnown = ".well-known"

func isHidden(segment string) bool { return strings.HasPrefix(segment, ".") }

// devices are the names that mean a device in every directory, whatever their
// extension.
var devices = []string{"CON", "PRN", "AUX", "NUL", "COM", "LPT", "CONIN$", "CONOUT$"}

func oddOnWindows(segment string) bool {
	if strings.ContainsAny(segment, `:*?"<>|`) || strings.HasSuffix(segment, ".") || strings.HasSuffix(segment, " ") {
		return true
	}
	stem, _, _ := strings.Cut(strings.ToUpper(segment), ".")
	stem = strings.TrimRight(stem, " ")
	for _, device := range devices {
		rest, ok := strings.CutPrefix(stem, device)
		if numbered := device == "COM" || device == "LPT"; ok && (rest == "" && !numbered || numbered && len([]rune(rest)) == 1 && strings.ContainsAny(rest, "0123456789¹²³")) {
			return true
		}
	}
	return false
}

func outside(why string) error {
	return &durward.Error{
		Reason: durward.OutsideRoot, Op: "resolve", Rule: "path",
		Hint: "name a page by its path below the site, without ..", Err: errors.New(why),
	}
}

func notFound() error {
	return &durward.Error{
		Reason: durward.FileNotFound, Op: "resolve", Rule: "path",
		Hint: "GET / to see where the pages are", Err: errors.New("there is no such page"),
	}
}

package cli

import (
	"bytes"
	"regexp"
	"strings"
	"sync"

	"github.com/durward/durward/internal/clientconfig"
	"github.com/durward/durward/internal/credential"
)

// mostShown bounds a line of a change: some programs write their files without any line end.
const mostShown = 400

// hidden stands for a secret.
const hidden = "[redacted]"

// shownChange lists the lines that differ, and of long ones what differs. What looks like a secret is left out: it is
// the client's, and who reads this may be a log.
func shownChange(was, now []byte) []string {
	was, now = around(lined(was), lined(now))
	lines := append([]string{}, changedLines(withoutSecrets(was), withoutSecrets(now))...)
	if len(lines) == 2 && len(lines[0]) > mostShown {
		lines[0], lines[1] = differing(lines[0], lines[1])
	}
	return lines
}

// around leaves out most lines that two texts have in common: they may be many, and what a line is about stands in it, or not
// far before it.
func around(was, now []byte) ([]byte, []byte) {
	const before = 100 // lines
	from, same := inCommon(was, now)
	for range before + 1 {
		from = max(0, bytes.LastIndexByte(was[:from], '\n'))
	}
	if end := bytes.IndexByte(was[len(was)-same:], '\n'); end >= 0 {
		same -= end
	} else {
		same = 0
	}
	return was[from : len(was)-same], now[from : len(now)-same]
}

func lined(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// differing gives of two lines what differs, with a little of what stands beside it.
func differing(was, now string) (string, string) {
	const beside = 40
	from, same := inCommon([]byte(was[1:]), []byte(now[1:])) // the first is the sign of the line
	begin, left := max(1, 1+from-beside), max(0, same-beside)
	cut := func(line string) string {
		return line[:1] + "…" + strings.ToValidUTF8(line[begin:len(line)-left], "") + "…"
	}
	return cut(was), cut(now)
}

// quotedForm is a text in quotes, as JSON and TOML have it, or a name without quotes before an equals sign.
var quotedForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'|([A-Za-z0-9_-]+)[ \t]*=`)
})

// withoutSecrets gives a configuration with a word in the place of each value that looks like a secret: by the
// name before it, by the argument before it, or by its form. A reference to a variable is none.
func withoutSecrets(configuration []byte) []byte {
	text, before, named, at := string(configuration), "", false, 0
	var b strings.Builder
	for _, m := range quotedForm().FindAllStringSubmatchIndex(text, -1) {
		from, to := max(m[2], m[4]), max(m[3], m[5])
		if from < 0 {
			before, named = text[m[6]:m[7]], true
			continue
		}
		value := text[from:to]
		if rest := strings.TrimLeft(text[m[1]:], " \t"); strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "=") {
			before, named = value, true
			continue
		}
		if prefix, ok := secretIn(before, value, named); ok {
			b.WriteString(text[at:from] + prefix + hidden)
			at = to
		}
		before, named = value, false
	}
	return []byte(credential.Redact(b.String() + text[at:]))
}

// secretIn tells whether a value is a secret, and what stands before that in it.
func secretIn(before, value string, named bool) (prefix string, ok bool) {
	switch {
	case strings.Contains(value, "{env:"), named && strings.HasSuffix(before, "_env_var"):
		return "", false
	case named && credential.Looks(before, value):
		return "", true
	}
	prefix, _, ok = credential.InArgument(before, value)
	return prefix, ok
}

// foundAt shows where an entry leads to, but for secrets.
func (c *clientChange) foundAt(raw string) string {
	s, ok := c.text.Find(c.name)
	switch {
	case !ok && len(raw) > mostShown:
		return "what is no server"
	case !ok:
		return string(withoutSecrets([]byte(raw)))
	case s.URL != "" && credential.InURL(s.URL):
		return plainURL(s.URL)
	case s.URL != "":
		return s.URL
	}
	return shownServer(s)
}

func shownServer(s clientconfig.Server) string {
	argv, before := []string{s.Command}, ""
	for _, arg := range s.Args {
		shown := arg
		if prefix, ok := secretIn(before, arg, false); ok {
			shown = prefix + hidden
		}
		argv, before = append(argv, shown), arg
	}
	where := credential.Redact(commandLine(argv))
	if s.Disabled {
		where += " (disabled)"
	}
	return where
}

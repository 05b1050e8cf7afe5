package glob

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/durward/durward"
)

const (
	maxPatternBytes = 1024
	maxSegments     = 64
)

// A pattern is matched one name of a path after the other, from the root of a tree to
// its leaves, so that a whole tree is matched by entering each directory once.
type pattern struct {
	segments []segment
	dirs     bool // it stands for directories alone
}

// A segment stands for one name or, without one, for any number of directories.
type segment struct{ name *regexp.Regexp }

func (s segment) isAny() bool { return s.name == nil }

// parse reads the pattern of a call.
func parse(text string) (pattern, error) {
	switch {
	case strings.HasPrefix(text, "/"):
		return pattern{}, leadsOut("the pattern is absolute")
	case strings.Contains(text, ".."):
		return pattern{}, leadsOut(`the pattern holds ".."`)
	}
	p, err := parseSegments(text)
	if err != nil {
		return pattern{}, &durward.Error{
			Reason: durward.BadCall, Op: "glob", Hint: "use *, ?, [a-z], [!a-z], and ** as a whole segment",
			Err: fmt.Errorf("bad pattern: %w", err),
		}
	}
	return p, nil
}

func leadsOut(why string) error {
	return &durward.Error{
		Reason: durward.OutsideRoot, Op: "glob", Rule: "path", Hint: "use a pattern relative to the page's directory", Err: errors.New(why),
	}
}

// parseSegments takes a pattern apart. Needless slashes and "." segments have no meaning,
// and several ** in a row have that of one.
func parseSegments(text string) (pattern, error) {
	if len(text) > maxPatternBytes || !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return pattern{}, errors.New("it is too long, or no text")
	}
	p := pattern{dirs: strings.HasSuffix(text, "/")}
	for part := range strings.SplitSeq(text, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part != "**":
			name, err := compile(part)
			if err != nil {
				return pattern{}, err
			}
			p.segments = append(p.segments, segment{name})
		case len(p.segments) == 0 || !p.segments[len(p.segments)-1].isAny():
			p.segments = append(p.segments, segment{})
		}
	}
	if n := len(p.segments); n == 0 || n > maxSegments {
		return pattern{}, fmt.Errorf("it has to have 1 to %d segments", maxSegments)
	}
	return p, nil
}

// compile turns a segment into an expression that matches in linear time.
func compile(part string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for part != "" {
		written, rest, err := next(part)
		if err != nil {
			return nil, err
		}
		b.WriteString(written)
		part = rest
	}
	b.WriteString(`\z`)
	return regexp.Compile(b.String())
}

// next gives the first element of a segment as an expression, and what follows it.
func next(part string) (written, rest string, err error) {
	switch {
	case strings.HasPrefix(part, "**"):
		return "", "", errors.New("** stands alone between slashes")
	case part[0] == '*':
		return ".*", part[1:], nil
	case part[0] == '?':
		return ".", part[1:], nil
	case part[0] == '[':
		return class(part[1:])
	}
	end := strings.IndexAny(part, "*?[")
	if end < 0 {
		end = len(part)
	}
	return regexp.QuoteMeta(part[:end]), part[end:], nil
}

// class reads what follows "[". A "]" at the start and a "-" at either end stand for
// themselves.
func class(text string) (written, rest string, err error) {
	var b strings.Builder
	b.WriteByte('[')
	text, not := strings.CutPrefix(text, "!")
	if not {
		b.WriteByte('^')
	} else if strings.HasPrefix(text, "^") {
		return "", "", errors.New("write [!a-z], not [^a-z]")
	}
	for first := true; ; first = false {
		if text == "" {
			return "", "", errors.New("a [ without its ]")
		}
		if text[0] == ']' && !first {
			b.WriteByte(']')
			return b.String(), text[1:], nil
		}
		low, high, after := span(text)
		if low > high {
			return "", "", fmt.Errorf("the range %c-%c is empty", low, high)
		}
		fmt.Fprintf(&b, `\x{%x}-\x{%x}`, low, high)
		text = after
	}
}

// span reads one character of a class or a range of them.
func span(text string) (low, high rune, rest string) {
	low, size := utf8.DecodeRuneInString(text)
	text = text[size:]
	if len(text) < 2 || text[0] != '-' || text[1] == ']' {
		return low, low, text
	}
	high, size = utf8.DecodeRuneInString(text[1:])
	return low, high, text[1+size:]
}

// States are the segments that may match the next name: one bit for each.
type states uint64

// start is where a match begins.
func (p pattern) start() states { return p.from(0) }

// from gives the segment and, as ** may stand for no directory, the one behind it.
func (p pattern) from(i int) states {
	at := states(1) << i
	if p.segments[i].isAny() && i+1 < len(p.segments) {
		at |= 1 << (i + 1)
	}
	return at
}

// step goes on by a name. It tells whether a match ends with it, and gives what the
// names below it are to match; zero is nothing.
func (p pattern) step(at states, name string) (below states, match bool) {
	for ; at != 0; at &= at - 1 {
		i := bits.TrailingZeros64(uint64(at))
		s, last := p.segments[i], i == len(p.segments)-1
		switch {
		case s.isAny():
			below |= p.from(i)
			match = match || last
		case !s.name.MatchString(name):
		case last:
			match = true
		default:
			below |= p.from(i + 1)
		}
	}
	return below, match
}

// covers tells whether the pattern matches the path, or a directory on the way to it.
func (p pattern) covers(path string) bool {
	at := p.start()
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		below, match := p.step(at, name)
		if match {
			return true
		}
		at = below
	}
	return false
}

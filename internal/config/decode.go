package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Decoder turns nodes into the caller's own types and notes every mistake on the way.
// Its methods report by their second result whether the value could be used. The zero
// value is ready.
type Decoder struct {
	// Colon puts a colon between the path of a value and what is wrong with it:
	// "limits.wall: must be an integer, not a string".
	Colon    bool
	problems Problems
}

// Fields says what is to be done with each member a mapping may have.
type Fields map[string]func(*Node)

// Problem notes a mistake at n.
func (d *Decoder) Problem(n *Node, format string, args ...any) {
	d.problems.Add(n.Where, format, args...)
}

// Include adds the problems that err is made of to those found later.
func (d *Decoder) Include(err error) { d.problems = append(d.problems, ProblemsOf(err)...) }

// Err gives all mistakes as [Problems], in the order of their places, or nil.
func (d *Decoder) Err() error { return d.problems.Err() }

// Fields calls the function of each member of the mapping n, in the order of the
// document. A member without one is a mistake.
func (d *Decoder) Fields(n *Node, fields Fields) {
	d.Map(n, func(f Field) {
		decode, ok := fields[f.Name]
		if !ok {
			d.problems.Add(f.Where, "%sunknown field %q%s", d.within(n), f.Name, DidYouMean(f.Name, slices.Collect(maps.Keys(fields))))
			return
		}
		decode(f.Value)
	})
}

// Map calls each for every member of the mapping n.
func (d *Decoder) Map(n *Node, each func(Field)) {
	if !d.is(n, Map) {
		return
	}
	for _, f := range n.Fields {
		each(f)
	}
}

// List calls each for every item of the list n.
func (d *Decoder) List(n *Node, each func(*Node)) {
	if !d.is(n, List) {
		return
	}
	for _, item := range n.Items {
		each(item)
	}
}

// String gives a string. Other scalars are not turned into one: what 1.10 or no would
// become is anybody's guess.
func (d *Decoder) String(n *Node) (string, bool) {
	switch n.Kind {
	case Bool, Int, Float:
		d.Problem(n, "%s must be a string, not %s; put it in quotes: %q", d.name(n), n.Kind, n.Text)
		return "", false
	}
	return n.Text, d.is(n, String)
}

// Bool gives a boolean.
func (d *Decoder) Bool(n *Node) (value, ok bool) {
	return strings.EqualFold(n.Text, "true"), d.is(n, Bool)
}

// Int gives an integer between low and high.
func (d *Decoder) Int(n *Node, low, high int64) (int64, bool) {
	if !d.is(n, Int) {
		return 0, false
	}
	value, err := strconv.ParseInt(strings.ReplaceAll(n.Text, "_", ""), IntBase(n.Text), 64)
	if err != nil || value < low || value > high {
		d.Problem(n, "%s must be between %d and %d, not %s", d.name(n), low, high, n.Text)
		return 0, false
	}
	return value, true
}

// Seconds gives a time that is written as a number of seconds, with a fraction or without: more
// than 0, and at most so many.
func (d *Decoder) Seconds(n *Node, most int64) (time.Duration, bool) {
	if n.Kind != Int && n.Kind != Float {
		d.Problem(n, "%s must be a number of seconds, not %s", d.name(n), n.Kind)
		return 0, false
	}
	text := strings.ReplaceAll(n.Text, "_", "")
	value, err := strconv.ParseFloat(text, 64)
	if n.Kind == Int {
		var whole int64
		whole, err = strconv.ParseInt(text, IntBase(n.Text), 64)
		value = float64(whole)
	}
	if err != nil || !(value > 0 && value <= float64(most)) { // NaN is neither
		d.Problem(n, "%s must be more than 0 and at most %d seconds, not %s", d.name(n), most, n.Text)
		return 0, false
	}
	return max(time.Duration(math.Round(value*float64(time.Second))), 1), true
}

// Word gives a string out of words.
func (d *Decoder) Word(n *Node, words ...string) (string, bool) {
	text, ok := d.String(n)
	if !ok {
		return "", false
	}
	if !slices.Contains(words, text) {
		d.Problem(n, "%s must be one of %s, not %q%s", d.name(n), strings.Join(words, ", "), text, DidYouMean(text, words))
		return "", false
	}
	return text, true
}

func (d *Decoder) is(n *Node, want Kind) bool {
	if n.Kind == want {
		return true
	}
	d.Problem(n, "%s must be %s, not %s", d.name(n), want, n.Kind)
	return false
}

// name is what a message calls the node.
func (d *Decoder) name(n *Node) string {
	if d.Colon {
		return n.name() + ":"
	}
	return n.name()
}

// within says which mapping a message is about, where it is to say so and it is not the
// document.
func (d *Decoder) within(n *Node) string {
	if !d.Colon || n.Path == "" {
		return ""
	}
	return d.name(n) + " "
}

// IntBase is 0, by which 0x, 0o and 0b are understood, but for plain decimals.
func IntBase(text string) int {
	for _, prefix := range []string{"0x", "0o", "0b"} {
		if strings.HasPrefix(text, prefix) {
			return 0
		}
	}
	return 10
}

// DidYouMean gives ` (did you mean "x"?)` for the known word nearest to word, or "".
func DidYouMean(word string, known []string) string {
	best := Nearest(word, known)
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// Nearest gives the known word that somebody who wrote word may have meant, or "".
func Nearest(word string, known []string) string {
	best, least := "", max(len(word)/2, 2)
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to add, drop, change or swap to come from a to b.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return len(a) + len(b)
	}
	var rows [3][64 + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range b {
		last[j+1] = j + 1
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

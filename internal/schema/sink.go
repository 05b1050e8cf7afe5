package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/durward/durward/internal/jsonx"
)

// maxViolations is how many are told of.
const maxViolations = 20

// A violation is one place of a tree that does not fit.
type violation struct {
	node             int32
	keyword, message string
}

// A sink keeps the first violations in the order of the text.
type sink struct{ found []violation }

// fail notes a violation and gives false.
func (c *checker) fail(quiet bool, n int32, keyword string, says func() string) bool {
	if quiet {
		return false
	}
	s := &c.sink
	if len(s.found) == maxViolations && n >= s.found[maxViolations-1].node {
		return false
	}
	v := violation{n, keyword, says()}
	at := len(s.found)
	for at > 0 && s.found[at-1].node > n {
		at--
	}
	for i := at; i > 0 && s.found[i-1].node == n; i-- {
		if s.found[i-1] == v { // another reference says the same
			return false
		}
	}
	if s.found = slices.Insert(s.found, at, v); len(s.found) > maxViolations {
		s.found = s.found[:maxViolations]
	}
	return false
}

// violations holds a tree to the schema.
func (s *Schema) violations(t *tree) []violation {
	c := checker{tree: t, steps: baseSteps + stepsEach*len(t.nodes)}
	fits := c.fits(s.root, 0, false, nil)
	if c.steps < 0 {
		return []violation{{0, "", sayTooLarge}}
	}
	if fits {
		return nil
	}
	return c.sink.found
}

// sayTooLarge is said of a text that takes more than anybody has time or memory for.
const sayTooLarge = "is too large to be held to its schema"

// maxSaid bounds what of a schema a message repeats.
const maxSaid = 128

func sayNever() string   { return "must not be there" }
func sayName() string    { return "must not have such a name" }
func sayNot() string     { return "must not be of a kind that the schema rules out" }
func sayNone() string    { return "must fit one of the alternatives of the schema, and fits none" }
func sayTooMany() string { return "must fit one alternative of the schema alone, and fits several" }

func sayTypes(s typeSet) string {
	var words []string
	for _, t := range typeWords {
		if s&t.set != 0 {
			words = append(words, t.says)
		}
	}
	return "must be " + strings.Join(words, " or ")
}

// sayEnum lists the values of a schema if they are few and short.
func sayEnum(t *tree, n int32) string {
	var says []string
	length := 0
	for at := n + 1; at < t.nodes[n].past; at = t.nodes[at].past {
		says = append(says, string(t.raw(at)))
		length += int(t.nodes[at].to - t.nodes[at].from)
	}
	if length > maxSaid {
		return "must be one of the " + strconv.Itoa(len(says)) + " values that the schema lists"
	}
	return "must be one of " + strings.Join(says, ", ")
}

func sayConstant(t *tree, n int32) string {
	if raw := t.raw(n); len(raw) <= maxSaid {
		return "must be " + string(raw)
	}
	return "must be the value that the schema names"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func quote(name string) string { return string(appendText(nil, []byte(cut(name, maxSaid)))) }

// appendText writes a text as JSON does.
func appendText(b, says []byte) []byte {
	line, _ := jsonx.Marshal(string(says)) // strings always have a form
	return append(b, strings.TrimSuffix(string(line), "\n")...)
}

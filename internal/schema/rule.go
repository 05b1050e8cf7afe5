package schema

import "regexp"

// A rule is a compiled schema. It is not changed once it is complete.
type rule struct {
	// always and never are the schemas true and false; by is the keyword that says false.
	always, never bool
	by            string
	// node is where it stands in the document of its resource.
	node     int32
	resource *resource

	types    typeSet // zero is any
	enum     *enum
	constant *constant
	// constSays is what a message says of it.
	constSays string

	multipleOf                          *divisor
	minimum, maximum, above, below      *limit // above and below leave themselves out
	minLength, maxLength                bound
	pattern                             *pattern
	format                              *format
	minItems, maxItems                  bound
	minContains, maxContains            bound
	unique                              bool
	prefix                              []*rule
	items, contains, unevaluatedItems   *rule
	minProperties, maxProperties        bound
	required                            []string
	properties                          map[string]*rule
	patterns                            []patternRule
	additional, names, unevaluatedProps *rule
	dependentNames                      []dependentNames
	dependentRules                      []dependentRule

	ref             *rule
	dynamic         *dynamicRef
	allOf           []*rule
	anyOf, oneOf    []*rule
	not             *rule
	when            *rule // if
	then, otherwise *rule
}

// An enum is the values of which one is due: texts, and others.
type enum struct {
	texts map[string]bool
	other []constant
	says  string
}

// A limit is a number of a schema, and how it is written.
type limit struct {
	decimal
	says string
}

// A bound of a length is set where a schema has it.
type bound struct {
	set bool
	n   int
}

type patternRule struct {
	name *pattern
	rule *rule
}

// A pattern takes time in proportion to the text and, at worst, to its size in instructions.
type pattern struct {
	*regexp.Regexp
	size int
}

type dependentNames struct {
	keyword, name string
	needs         []string
}

type dependentRule struct {
	name string
	rule *rule
}

// A dynamicRef leads to the outermost anchor of its name among the resources that were gone
// through, if the one it leads to by itself is such an anchor, and else there.
type dynamicRef struct {
	anchor string // empty for none
	to     *rule
}

// A typeSet is a set of types.
type typeSet uint8

const integerType typeSet = 1 << 7

func typeOf(k kind) typeSet { return 1 << k }

// typeWords are the types in the order in which messages name them.
var typeWords = [...]struct {
	word, says string
	set        typeSet
}{
	{"string", "a string", 1 << text},
	{"integer", "an integer", integerType},
	{"number", "a number", 1 << number},
	{"boolean", "true or false", 1 << boolean},
	{"object", "an object", 1 << object},
	{"array", "an array", 1 << array},
	{"null", "null", 1 << null},
}

func typeNamed(word []byte) typeSet {
	for _, t := range typeWords {
		if t.word == string(word) {
			return t.set
		}
	}
	return 0
}

// has reports whether a value is of one of the types.
func (s typeSet) has(t *tree, n int32) bool {
	k := t.nodes[n].kind
	return s&typeOf(k) != 0 || k == number && s&integerType != 0 && parseDecimal(t.raw(n)).isInteger()
}

// inPlace lists what else the value itself must fit, whatever it is.
func (r *rule) inPlace() []*rule {
	var list []*rule
	for _, one := range []*rule{r.ref, r.not, r.when, r.then, r.otherwise} {
		if one != nil {
			list = append(list, one)
		}
	}
	list = append(append(append(list, r.allOf...), r.anyOf...), r.oneOf...)
	for _, d := range r.dependentRules {
		list = append(list, d.rule)
	}
	if r.dynamic != nil && r.dynamic.anchor == "" {
		list = append(list, r.dynamic.to)
	}
	return list
}

package schema

import (
	"unicode/utf8"
)

// A checker holds one text to a schema.
type checker struct {
	tree *tree
	sink sink
	// steps is what may still be done; it is below zero once that was too much.
	steps int
	depth int
	// outer are the resources that were gone through on the way to the rule at hand.
	outer []*resource
}

// What a check may cost: so much, and some more for each value of the text.
const (
	baseSteps  = 1 << 20
	stepsEach  = 1 << 8
	maxNesting = 1 << 14 // of rules in rules
)

// marks say which values of an array or object some keyword has looked at.
type marks struct {
	all bool
	set []bool
}

func newMarks(n *node) *marks { return &marks{set: make([]bool, n.count)} }

func (m *marks) add(place int32) {
	if m != nil {
		m.set[place] = true
	}
}

// fresh gives marks for a rule whose failure would leave none; nil where nobody asks.
func (m *marks) fresh() *marks {
	if m == nil {
		return nil
	}
	return &marks{set: make([]bool, len(m.set))}
}

func (m *marks) join(o *marks) {
	if m == nil {
		return
	}
	m.all = m.all || o.all
	for i, set := range o.set {
		m.set[i] = m.set[i] || set
	}
}

// fits reports whether a value fits a rule. It notes what does not, unless it is to be quiet:
// then it looks no further than the first. seen, unless nil, is told what keywords looked at.
func (c *checker) fits(r *rule, n int32, quiet bool, seen *marks) bool {
	if c.steps--; c.steps < 0 || c.depth > maxNesting {
		c.steps = min(c.steps, -1)
		return false
	}
	if r.always {
		return true
	}
	if r.never {
		return c.fail(quiet, n, r.by, sayNever)
	}
	c.depth++
	outer := len(c.outer)
	if outer == 0 || c.outer[outer-1] != r.resource {
		c.outer = append(c.outer, r.resource)
	}
	ok := c.fitsAll(r, n, quiet, seen)
	c.outer = c.outer[:outer]
	c.depth--
	return ok
}

// fitsAll is fits for a rule with keywords.
func (c *checker) fitsAll(r *rule, n int32, quiet bool, seen *marks) bool {
	own := seen
	unevaluated := r.unevaluated(c.tree.nodes[n].kind)
	if unevaluated != nil {
		own = newMarks(&c.tree.nodes[n])
	}
	ok := true
	for _, part := range [...]func(*rule, int32, bool, *marks) bool{c.value, c.content, c.inPlace} {
		if !part(r, n, quiet, own) {
			if ok = false; quiet {
				return false
			}
		}
	}
	if unevaluated == nil {
		return ok
	}
	if !own.all {
		ok = c.rest(unevaluated, n, quiet, own) && ok
		own.all = true
	}
	seen.join(own)
	return ok
}

// unevaluated gives the rule for what nothing else has looked at, if there is one.
func (r *rule) unevaluated(k kind) *rule {
	switch k {
	case object:
		return r.unevaluatedProps
	case array:
		return r.unevaluatedItems
	}
	return nil
}

func (c *checker) rest(r *rule, n int32, quiet bool, seen *marks) bool {
	ok := true
	for at := n + 1; at < c.tree.nodes[n].past; at = c.tree.nodes[at].past {
		if seen.set[c.tree.nodes[at].place] || c.fits(r, at, quiet, nil) {
			continue
		}
		if ok = false; quiet {
			break
		}
	}
	return ok
}

// value looks at a value as a whole.
func (c *checker) value(r *rule, n int32, quiet bool, _ *marks) bool {
	if r.types != 0 && !r.types.has(c.tree, n) {
		return c.fail(quiet, n, "type", func() string { return sayTypes(r.types) })
	}
	ok := true
	if r.enum != nil && !c.isOneOf(r.enum, n) {
		ok = c.fail(quiet, n, "enum", func() string { return r.enum.says })
	}
	if r.constant != nil && !c.same(*r.constant, n) {
		ok = c.fail(quiet, n, "const", func() string { return r.constSays })
	}
	return ok
}

func (c *checker) isOneOf(e *enum, n int32) bool {
	if c.tree.nodes[n].kind == text {
		return e.texts[string(c.tree.says(n))]
	}
	for _, one := range e.other {
		if c.same(one, n) {
			return true
		}
	}
	return false
}

func (c *checker) same(want constant, n int32) bool {
	c.steps -= int(c.tree.nodes[n].past - n)
	return equal(want.tree, want.node, c.tree, n)
}

// content looks at what a value is made of.
func (c *checker) content(r *rule, n int32, quiet bool, seen *marks) bool {
	switch c.tree.nodes[n].kind {
	case number:
		return c.number(r, n, quiet)
	case text:
		return c.text(r, n, quiet)
	case array:
		return c.array(r, n, quiet, seen)
	case object:
		return c.object(r, n, quiet, seen)
	}
	return true
}

func (c *checker) number(r *rule, n int32, quiet bool) bool {
	if r.minimum == nil && r.maximum == nil && r.above == nil && r.below == nil && r.multipleOf == nil {
		return true
	}
	d, ok := parseDecimal(c.tree.raw(n)), true
	if r.minimum != nil && d.compare(r.minimum.decimal) < 0 {
		ok = c.fail(quiet, n, "minimum", func() string { return "must be at least " + r.minimum.says })
	}
	if r.maximum != nil && d.compare(r.maximum.decimal) > 0 {
		ok = c.fail(quiet, n, "maximum", func() string { return "must be at most " + r.maximum.says })
	}
	if r.above != nil && d.compare(r.above.decimal) <= 0 {
		ok = c.fail(quiet, n, "exclusiveMinimum", func() string { return "must be more than " + r.above.says })
	}
	if r.below != nil && d.compare(r.below.decimal) >= 0 {
		ok = c.fail(quiet, n, "exclusiveMaximum", func() string { return "must be less than " + r.below.says })
	}
	if r.multipleOf != nil && !r.multipleOf.divides(d) {
		ok = c.fail(quiet, n, "multipleOf", func() string { return "must be a multiple of " + r.multipleOf.says })
	}
	return ok
}

func (c *checker) text(r *rule, n int32, quiet bool) bool {
	if !r.minLength.set && !r.maxLength.set && r.pattern == nil && r.format == nil {
		return true
	}
	says, ok := c.tree.says(n), true
	if r.minLength.set || r.maxLength.set {
		ok = c.counted(r.minLength, r.maxLength, utf8.RuneCount(says), n, quiet, "minLength", "maxLength", "character")
	}
	if r.pattern != nil && !c.matches(r.pattern, says) {
		ok = c.fail(quiet, n, "pattern", func() string { return "must match the pattern " + cut(r.pattern.String(), maxSaid) })
	}
	if r.format != nil && !r.format.holds(says) {
		ok = c.fail(quiet, n, "format", func() string { return "must be " + r.format.says })
	}
	return ok
}

func (c *checker) matches(p *pattern, says []byte) bool {
	return c.spends(1+len(says)*max(p.size, 16)/256) && p.Match(says)
}

// spends takes steps, and reports whether there were so many left. Without them nothing more is to
// be done: what has been found does not count.
func (c *checker) spends(steps int) bool {
	c.steps -= steps
	return c.steps >= 0
}

// has reports whether an object has a member; each one before it is looked at.
func (c *checker) has(n int32, name string) bool {
	return c.spends(1+int(c.tree.nodes[n].count)/16) && c.tree.member(n, name) != none
}

// counted holds a count to its bounds.
func (c *checker) counted(least, most bound, count int, n int32, quiet bool, low, high, of string) bool {
	switch {
	case least.set && count < least.n:
		return c.fail(quiet, n, low, func() string { return "must have at least " + plural(least.n, of) })
	case most.set && count > most.n:
		return c.fail(quiet, n, high, func() string { return "must have at most " + plural(most.n, of) })
	}
	return true
}

func (c *checker) array(r *rule, n int32, quiet bool, seen *marks) bool {
	t := c.tree
	ok := c.counted(r.minItems, r.maxItems, int(t.nodes[n].count), n, quiet, "minItems", "maxItems", "item")
	if r.unique && t.nodes[n].count > 1 && (ok || !quiet) {
		ok = c.distinct(n, quiet) && ok
	}
	if r.prefix == nil && r.items == nil && r.contains == nil || !ok && quiet {
		return ok
	}
	found := 0
	for at := n + 1; at < t.nodes[n].past; at = t.nodes[at].past {
		place := t.nodes[at].place
		item := r.items
		if int(place) < len(r.prefix) {
			item = r.prefix[place]
		}
		if item != nil {
			seen.add(place)
			if !c.fits(item, at, quiet, nil) {
				if ok = false; quiet {
					return false
				}
			}
		}
		if r.contains != nil && c.fits(r.contains, at, true, nil) {
			found++
			seen.add(place)
		}
	}
	if r.contains == nil {
		return ok
	}
	switch {
	case found < r.minContains.n:
		keyword := "minContains"
		if r.minContains.n == 1 {
			keyword = "contains"
		}
		ok = c.fail(quiet, n, keyword, func() string {
			return "must have at least " + plural(r.minContains.n, "item") + " of the kind that the schema asks for"
		})
	case r.maxContains.set && found > r.maxContains.n:
		ok = c.fail(quiet, n, "maxContains", func() string {
			return "must have at most " + plural(r.maxContains.n, "item") + " of the kind that the schema counts"
		})
	}
	return ok
}

func (c *checker) distinct(n int32, quiet bool) bool {
	t := c.tree
	c.steps -= int(t.nodes[n].past - n)
	first, second, found := twice(t, n)
	if !found {
		return true
	}
	return c.fail(quiet, n, "uniqueItems", func() string {
		return "must not have the same item twice, at " + string(t.token(first)) + " and " + string(t.token(second))
	})
}

func (c *checker) object(r *rule, n int32, quiet bool, seen *marks) bool {
	t := c.tree
	ok := c.counted(r.minProperties, r.maxProperties, int(t.nodes[n].count), n, quiet, "minProperties", "maxProperties", "member")
	for _, name := range r.required {
		if !c.has(n, name) {
			if ok = c.missing(quiet, n, "required", name); quiet || c.steps < 0 {
				return false
			}
		}
	}
	if quiet && !ok {
		return false
	}
	if r.properties != nil || r.patterns != nil || r.additional != nil || r.names != nil {
		for at := n + 1; at < t.nodes[n].past; at = t.nodes[at].past {
			if !c.member(r, at, quiet, seen) {
				if ok = false; quiet || c.steps < 0 {
					return false
				}
			}
		}
	}
	for _, d := range r.dependentNames {
		if !c.has(n, d.name) {
			continue
		}
		for _, name := range d.needs {
			if !c.has(n, name) {
				ok = c.missing(quiet, n, d.keyword, name)
			}
		}
	}
	return ok
}

func (c *checker) missing(quiet bool, n int32, keyword, name string) bool {
	return c.fail(quiet, n, keyword, func() string { return "must have the member " + quote(name) })
}

// member looks at one member of an object.
func (c *checker) member(r *rule, at int32, quiet bool, seen *marks) bool {
	name := c.tree.name(at)
	ok, known := true, false
	if r.names != nil && !c.fitsName(r.names, name) {
		ok = c.fail(quiet, at, "propertyNames", sayName)
	}
	if own, found := r.properties[string(name)]; found {
		known = true
		ok = c.fits(own, at, quiet, nil) && ok
	}
	for _, p := range r.patterns {
		if c.matches(p.name, name) {
			known = true
			ok = c.fits(p.rule, at, quiet, nil) && ok
		}
		if c.steps < 0 {
			return false
		}
	}
	if !known && r.additional != nil {
		known = true
		ok = c.fits(r.additional, at, quiet, nil) && ok
	}
	if known {
		seen.add(c.tree.nodes[at].place)
	}
	return ok
}

// fitsName holds the name of a member to a rule, as a text of its own.
func (c *checker) fitsName(r *rule, name []byte) bool {
	t := &tree{text: appendText(nil, name)}
	t.nodes = []node{{kind: text, escaped: true, to: int32(len(t.text)), past: 1, parent: none}}
	inner := checker{tree: t, steps: c.steps, depth: c.depth, outer: c.outer}
	ok := inner.fits(r, 0, true, nil)
	c.steps = inner.steps
	return ok
}

// inPlace holds a value to what else a rule names for it.
func (c *checker) inPlace(r *rule, n int32, quiet bool, seen *marks) bool {
	ok := true
	hold := func(other *rule) bool {
		if !c.fits(other, n, quiet, seen) {
			ok = false
		}
		return ok || !quiet
	}
	if r.ref != nil && !hold(r.ref) {
		return false
	}
	if r.dynamic != nil && !hold(c.dynamic(r.dynamic)) {
		return false
	}
	for _, one := range r.allOf {
		if !hold(one) {
			return false
		}
	}
	if len(r.anyOf) > 0 && !c.any(r.anyOf, n, quiet, seen) || len(r.oneOf) > 0 && !c.one(r.oneOf, n, quiet, seen) {
		if ok = false; quiet {
			return false
		}
	}
	if r.not != nil && c.fits(r.not, n, true, nil) {
		if ok = c.fail(quiet, n, "not", sayNot); quiet {
			return false
		}
	}
	if r.when != nil {
		next, tried := r.otherwise, seen.fresh()
		if c.fits(r.when, n, true, tried) {
			next = r.then
			seen.join(tried)
		}
		if next != nil && !hold(next) {
			return false
		}
	}
	for _, d := range r.dependentRules {
		if c.has(n, d.name) && !hold(d.rule) {
			return false
		}
	}
	return ok
}

// dynamic finds the rule that a dynamic reference leads to here and now.
func (c *checker) dynamic(d *dynamicRef) *rule {
	if d.anchor != "" {
		for _, outer := range c.outer {
			if r := outer.dynamic[d.anchor]; r != nil {
				return r
			}
		}
	}
	return d.to
}

func (c *checker) any(list []*rule, n int32, quiet bool, seen *marks) bool {
	found := false
	for _, one := range list {
		tried := seen.fresh()
		if c.fits(one, n, true, tried) {
			if found = true; seen == nil {
				return true
			}
			seen.join(tried)
		}
	}
	return found || c.noneFits(list, n, quiet, "anyOf")
}

func (c *checker) one(list []*rule, n int32, quiet bool, seen *marks) bool {
	found := 0
	for _, one := range list {
		tried := seen.fresh()
		if !c.fits(one, n, true, tried) {
			continue
		}
		if found++; found > 1 {
			return c.fail(quiet, n, "oneOf", sayTooMany)
		}
		seen.join(tried)
	}
	return found == 1 || c.noneFits(list, n, quiet, "oneOf")
}

// noneFits says what is wrong with a value for which there are several rules. Where only one of
// them is for values of its type it is that one which was meant.
func (c *checker) noneFits(list []*rule, n int32, quiet bool, keyword string) bool {
	if quiet {
		return false
	}
	var meant []*rule
	for _, one := range list {
		if types := one.typesInPlace(); types == 0 || types.has(c.tree, n) {
			meant = append(meant, one)
		}
	}
	if len(meant) == 1 && !meant[0].never {
		return c.fits(meant[0], n, false, nil)
	}
	return c.fail(quiet, n, keyword, sayNone)
}

// typesInPlace gives the types that a rule is for, also by a reference.
func (r *rule) typesInPlace() typeSet {
	for ; r.types == 0 && r.ref != nil; r = r.ref {
	}
	return r.types
}

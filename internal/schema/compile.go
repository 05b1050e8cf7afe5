package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// rule compiles the schema at a node, and all that it refers to. It never gives nil: a mistake
// is noted and stands for the schema true.
func (f *Folder) rule(doc *document, n int32) *rule {
	at := place{doc, n}
	if r, ok := f.rules[at]; ok {
		return r
	}
	r := &rule{node: n, resource: f.scope(at)}
	f.rules[at] = r
	if f.order = append(f.order, r); len(f.order) > maxRules {
		if len(f.order) == maxRules+1 {
			f.wrong(doc, n, "all files together hold more than %d schemas", maxRules)
		}
		return r
	}
	t := doc.tree
	switch t.nodes[n].kind {
	case boolean:
		r.always = t.text[t.nodes[n].from] == 't'
		r.never = !r.always
		r.by = "false"
	case object:
		c := compiling{f, doc, n, r}
		c.object()
	}
	return r
}

// compiling is one object on its way to become a rule.
type compiling struct {
	*Folder
	doc  *document
	node int32
	rule *rule
}

func (c *compiling) object() {
	t := c.doc.tree
	if at := t.member(c.node, "$ref"); at != none {
		c.rule.ref = c.reference(at)
		if c.doc.draft == draft07 {
			return // nothing beside it counts
		}
	}
	for at := c.node + 1; at < t.nodes[c.node].past; at = t.nodes[at].past {
		c.keyword(string(t.name(at)), at)
	}
	if c.rule.when == nil {
		c.rule.then, c.rule.otherwise = nil, nil
	}
	if c.rule.contains == nil {
		c.rule.minContains, c.rule.maxContains = bound{}, bound{}
	} else if !c.rule.minContains.set {
		c.rule.minContains = bound{true, 1}
	}
}

// keyword compiles one member. What is not of the form that its keyword has was found by the
// schema of schemas, and is passed over.
func (c *compiling) keyword(name string, at int32) {
	switch c.doc.tree.nodes[at].kind {
	case number:
		c.numeric(name, at)
	case text:
		c.textual(name, at)
	case array:
		c.listed(name, at)
	case object:
		c.named(name, at)
	case boolean:
		if name == "uniqueItems" {
			c.rule.unique = c.doc.tree.raw(at)[0] == 't'
		}
	}
	switch name {
	case "const":
		c.rule.constant = &constant{c.doc.tree, at}
		c.rule.constSays = sayConstant(c.doc.tree, at)
	case "then", "else", "if", "not", "contains", "propertyNames", "additionalProperties",
		"items", "additionalItems", "unevaluatedItems", "unevaluatedProperties":
		c.single(name, at)
	}
}

func (c *compiling) numeric(name string, at int32) {
	r := c.rule
	raw := c.doc.tree.raw(at)
	d := &limit{parseDecimal(raw), cut(string(raw), maxSaid)}
	length := bound{true, d.whole()}
	switch name {
	case "multipleOf":
		r.multipleOf = newDivisor(d)
	case "minimum":
		r.minimum = d
	case "maximum":
		r.maximum = d
	case "exclusiveMinimum":
		r.above = d
	case "exclusiveMaximum":
		r.below = d
	case "minLength":
		r.minLength = length
	case "maxLength":
		r.maxLength = length
	case "minItems":
		r.minItems = length
	case "maxItems":
		r.maxItems = length
	case "minProperties":
		r.minProperties = length
	case "maxProperties":
		r.maxProperties = length
	}
	if c.doc.draft == draft2020 {
		switch name {
		case "minContains":
			r.minContains = length
		case "maxContains":
			r.maxContains = length
		}
	}
}

func (c *compiling) textual(name string, at int32) {
	says := string(c.doc.tree.says(at))
	switch name {
	case "type":
		c.rule.types = typeNamed([]byte(says))
	case "pattern":
		c.rule.pattern = c.pattern(at, says)
	case "format":
		c.rule.format = formatNamed(says)
	case "$dynamicRef":
		if c.doc.draft == draft2020 {
			c.dynamicRef(at, says)
		}
	}
}

func (c *compiling) listed(name string, at int32) {
	r, t := c.rule, c.doc.tree
	switch name {
	case "type":
		for i := at + 1; i < t.nodes[at].past; i = t.nodes[i].past {
			if t.nodes[i].kind == text {
				r.types |= typeNamed(t.says(i))
			}
		}
	case "enum":
		r.enum = newEnum(t, at)
	case "required":
		r.required = c.texts(at)
	case "allOf":
		r.allOf = c.rules(name, at)
	case "anyOf":
		r.anyOf = c.rules(name, at)
	case "oneOf":
		r.oneOf = c.rules(name, at)
	case "prefixItems":
		if c.doc.draft == draft2020 {
			r.prefix = c.rules(name, at)
		}
	case "items":
		if c.doc.draft == draft07 {
			r.prefix = c.rules(name, at)
		}
	}
}

func (c *compiling) named(name string, at int32) {
	r, t := c.rule, c.doc.tree
	each := func(do func(name string, at int32)) {
		for i := at + 1; i < t.nodes[at].past; i = t.nodes[i].past {
			do(string(t.name(i)), i)
		}
	}
	switch name {
	case "properties":
		r.properties = make(map[string]*rule, t.nodes[at].count)
		each(func(property string, i int32) { r.properties[property] = c.below(name, i) })
	case "patternProperties":
		each(func(pattern string, i int32) {
			if re := c.pattern(i, pattern); re != nil {
				r.patterns = append(r.patterns, patternRule{re, c.below(name, i)})
			}
		})
	case "dependentRequired", "dependentSchemas":
		if c.doc.draft == draft2020 {
			each(func(property string, i int32) { c.dependent(name, property, i) })
		}
	case "dependencies":
		if c.doc.draft == draft07 {
			each(func(property string, i int32) { c.dependent(name, property, i) })
		}
	}
}

func (c *compiling) dependent(keyword, property string, at int32) {
	if c.doc.tree.nodes[at].kind == array {
		c.rule.dependentNames = append(c.rule.dependentNames, dependentNames{keyword, property, c.texts(at)})
		return
	}
	c.rule.dependentRules = append(c.rule.dependentRules, dependentRule{property, c.below(keyword, at)})
}

// single compiles a keyword that holds one schema.
func (c *compiling) single(name string, at int32) {
	r, latest := c.rule, c.doc.draft == draft2020
	if k := c.doc.tree.nodes[at].kind; k != object && k != boolean {
		return
	}
	switch name {
	case "if":
		r.when = c.below(name, at)
	case "then":
		r.then = c.below(name, at)
	case "else":
		r.otherwise = c.below(name, at)
	case "not":
		r.not = c.below(name, at)
	case "contains":
		r.contains = c.below(name, at)
	case "propertyNames":
		r.names = c.below(name, at)
	case "additionalProperties":
		r.additional = c.below(name, at)
	case "items":
		r.items = c.below(name, at)
	case "additionalItems":
		// It is for what is behind a list of items, and means nothing without one.
		if before := c.doc.tree.member(c.node, "items"); !latest && before != none && c.doc.tree.nodes[before].kind == array {
			r.items = c.below(name, at)
		}
	case "unevaluatedItems":
		if latest {
			r.unevaluatedItems = c.below(name, at)
		}
	case "unevaluatedProperties":
		if latest {
			r.unevaluatedProps = c.below(name, at)
		}
	}
}

// below compiles a schema that stands below a keyword.
func (c *compiling) below(keyword string, at int32) *rule {
	r := c.Folder.rule(c.doc, at)
	if r.never {
		r.by = keyword
	}
	return r
}

func (c *compiling) rules(keyword string, at int32) []*rule {
	t := c.doc.tree
	list := make([]*rule, 0, t.nodes[at].count)
	for i := at + 1; i < t.nodes[at].past; i = t.nodes[i].past {
		list = append(list, c.below(keyword, i))
	}
	return list
}

func (c *compiling) texts(at int32) []string {
	t := c.doc.tree
	var list []string
	for i := at + 1; i < t.nodes[at].past; i = t.nodes[i].past {
		if t.nodes[i].kind == text {
			list = append(list, string(t.says(i)))
		}
	}
	return list
}

// reference compiles what the text at a node refers to; nil after a mistake.
func (c *compiling) reference(at int32) *rule {
	t := c.doc.tree
	if t.nodes[at].kind != text {
		return nil
	}
	to, err := c.resolve(string(t.says(at)), c.rule.resource)
	if err != nil {
		c.wrong(c.doc, at, "%.128q: %s", t.says(at), err)
	}
	if to.doc == nil {
		return nil
	}
	return c.Folder.rule(to.doc, to.node)
}

func (c *compiling) dynamicRef(at int32, says string) {
	to := c.reference(at)
	if to == nil {
		return
	}
	c.rule.dynamic = &dynamicRef{to: to}
	_, anchor, _ := strings.Cut(says, "#")
	if _, can := to.resource.dynamic[anchor]; can && anchor != "" && anchor[0] != '/' {
		c.rule.dynamic.anchor = anchor
	}
}

// pattern compiles a regular expression, of those that are matched in linear time.
func (c *compiling) pattern(at int32, text string) *pattern {
	re, err := regexp.Compile(text)
	if err != nil {
		c.wrong(c.doc, at, "%.128q is no pattern of RE2, which has no lookaround and no backreferences: %s", text, patternError(err))
		return nil
	}
	return &pattern{re, sizeOf(text)}
}

// sizeOf gives the number of instructions of a pattern that has been compiled.
func sizeOf(text string) int {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

func patternError(err error) string {
	var e *syntax.Error
	if errors.As(err, &e) {
		return fmt.Sprintf("%s: %.64q", e.Code, e.Expr)
	}
	return err.Error()
}

func newEnum(t *tree, n int32) *enum {
	e := &enum{texts: map[string]bool{}, says: sayEnum(t, n)}
	for i := n + 1; i < t.nodes[n].past; i = t.nodes[i].past {
		if t.nodes[i].kind == text {
			e.texts[string(t.says(i))] = true
		} else {
			e.other = append(e.other, constant{t, i})
		}
	}
	return e
}

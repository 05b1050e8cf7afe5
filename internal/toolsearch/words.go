package toolsearch

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/durward/durward/internal/jsonx"
)

const (
	// longestWord is the length in bytes of the longest word; of longer ones the beginning counts.
	longestWord = 48
	// schemaBytes and schemaDepth bound the schemas that are looked at.
	schemaBytes = 256 << 10
	schemaDepth = 16
)

// words are those of one tool: how often each stands in each field, and how many words a field
// has.
type words struct {
	times map[string]*[fields]uint16
	count [fields]int
}

func wordsOf(e Entry) words {
	w := words{times: make(map[string]*[fields]uint16)}
	w.note(exactly+strings.ToLower(cut(e.Name)), inName)
	w.add(e.Name, inName)
	w.add(e.Title, inTitle)
	w.add(e.Description, inText)
	if len(e.Schema) <= schemaBytes && jsonx.Check(e.Schema, jsonx.Limits{Bytes: schemaBytes}) == nil {
		w.schema(jsonx.TrimSpace(e.Schema), schemaDepth)
	}
	return w
}

// add takes the words of a text.
func (w *words) add(text string, field int) {
	split(cut(text), func(word string) bool {
		w.note(word, field)
		w.count[field]++
		return len(w.times) < mostTerms
	})
}

func (w *words) note(term string, field int) {
	times := w.times[term]
	if times == nil {
		if len(w.times) >= mostTerms {
			return
		}
		times = new([fields]uint16)
		w.times[term] = times
	}
	if times[field] < 1000 {
		times[field]++
	}
}

// schema takes the names of members that a schema has, and what it says of them.
func (w *words) schema(text []byte, depth int) {
	switch {
	case depth == 0 || len(text) == 0 || len(w.times) >= mostTerms:
	case text[0] == '[':
		for _, one := range jsonx.Elements(text) {
			w.schema(one, depth-1)
		}
	case text[0] == '{':
		for name, value := range jsonx.Members(text) {
			w.keyword(string(name), value, depth)
		}
	}
}

func (w *words) keyword(name string, value []byte, depth int) {
	switch name {
	case "properties":
		if value[0] != '{' {
			return
		}
		for member, of := range jsonx.Members(value) {
			w.add(string(member), inMember)
			w.schema(of, depth-1)
		}
	case "title", "description":
		if said, ok := jsonx.Text(value); ok {
			w.add(said, inMemberText)
		}
	case "enum":
		if value[0] != '[' {
			return
		}
		for _, one := range jsonx.Elements(value) {
			if said, ok := jsonx.Text(one); ok {
				w.add(said, inMemberText)
			}
		}
	case "default", "examples", "const":
	default:
		w.schema(value, depth-1)
	}
}

// wordsOfQuery gives the terms to look for, each once.
func wordsOfQuery(query string) []string {
	query = cut(query)
	var list []string
	seen := map[string]bool{}
	split(query, func(word string) bool {
		if !seen[word] {
			seen[word] = true
			list = append(list, word)
		}
		return len(list) < mostAsked
	})
	if len(list) > 0 {
		list = append(list, exactly+strings.ToLower(strings.TrimSpace(query)))
	}
	return list
}

// cut gives the part of a text that is looked at.
func cut(text string) string {
	if len(text) <= textBytes {
		return text
	}
	end := textBytes
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// split gives the words of a text until take has enough. A word is a run of letters or of digits
// of which no capital follows a small letter (readFile), and none but the first a run of capitals
// (HTTPServer); where words are written together, each letter is one.
func split(text string, take func(word string) bool) {
	var word []rune
	flush := func() bool {
		ok := len(word) == 0 || take(stem(word))
		word = word[:0]
		return ok
	}
	runes := []rune(text)
	for i, c := range runes {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c):
			if !flush() {
				return
			}
			continue
		case together(c):
			if !flush() || !take(string(c)) {
				return
			}
			continue
		case len(word) > 0 && breaks(runes, i):
			if !flush() {
				return
			}
		}
		word = append(word, unicode.ToLower(c))
	}
	flush()
}

// breaks reports whether a word begins at a letter or digit that follows another one.
func breaks(runes []rune, i int) bool {
	before, c := runes[i-1], runes[i]
	if unicode.IsDigit(before) != unicode.IsDigit(c) {
		return true
	}
	if !unicode.IsUpper(c) {
		return false
	}
	return !unicode.IsUpper(before) || i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

// together reports whether a letter is of a script that has no spaces between words.
func together(c rune) bool {
	return c >= 0x2E80 && unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// stem gives a word without the s of an English plural, so that files and file are one.
func stem(word []rune) string {
	text := string(word)
	if len(text) > longestWord {
		end := longestWord
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	switch {
	case len(text) > 4 && strings.HasSuffix(text, "ies"):
		return text[:len(text)-3] + "y"
	case len(text) > 3 && strings.HasSuffix(text, "s") && !strings.HasSuffix(text, "ss"):
		return text[:len(text)-1]
	}
	return text
}

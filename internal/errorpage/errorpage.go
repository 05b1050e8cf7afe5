// Package errorpage makes the page of an error code: what happened, its causes, what to do,
// and how each door tells it.
//
// The words are those of docs/errors.md, which has a section for each code:
//
//	## DWD-POLICY-002 limit_denied
//
//	What happened, in one paragraph.
//
//	* Causes: …
//	* Fix: …
//	* Prevent: …
//
// They are looked for when somebody asks, and not before. All else on a page comes from the
// tables that programs are answered by.
package errorpage

import (
	"strconv"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/docs"
)

// Words are what a person wrote of an error. They send nobody to a file: who reads them in a
// terminal has none of docs.
type Words struct {
	Happened string `json:"happened"`
	Causes   string `json:"causes"`
	Fix      string `json:"fix"`
	Prevent  string `json:"prevent"`
}

// WordsOf gives the words on a reason; the zero value for one that has none.
func WordsOf(reason durward.Reason) Words {
	_, text, found := strings.Cut(docs.Errors, "\n## "+reason.Code()+" "+string(reason)+"\n")
	if !found {
		return Words{}
	}
	text, _, _ = strings.Cut(text, "\n## ")
	text, _, _ = strings.Cut(text, "\n# ") // of the next area
	happened, items, _ := strings.Cut(text, "\n* ")
	w := Words{Happened: strings.Join(strings.Fields(happened), " ")}
	for _, item := range strings.Split(items, "\n* ") {
		name, says, _ := strings.Cut(strings.TrimSpace(item), ": ")
		switch name {
		case "Causes":
			w.Causes = says
		case "Fix":
			w.Fix = says
		case "Prevent":
			w.Prevent = says
		}
	}
	return w
}

// An Answer is how one door tells an error.
type Answer struct {
	Door string `json:"door"`
	// Methods are those that it is told to, where others are told otherwise.
	Methods     string `json:"methods,omitempty"`
	HTTPStatus  int    `json:"http_status,omitempty"`
	JSONRPCCode int    `json:"jsonrpc_code,omitempty"`
	// Word is what the answer has for programs, as that door spells it.
	Word string `json:"word,omitempty"`
}

// A Page is all there is to know of one code.
type Page struct {
	Code    string         `json:"code"`
	Reason  durward.Reason `json:"reason"`
	Summary string         `json:"summary"`
	Kind    string         `json:"kind"`
	Retry   durward.Retry  `json:"retry"`
	// ExitStatus is that of every command but exec, which runs somebody else's.
	ExitStatus     int `json:"exit_status"`
	ExecExitStatus int `json:"exec_exit_status"`
	Words
	// Answers are those of the doors that have one of their own for it.
	Answers []Answer `json:"answers"`
}

// Of begins the page of a reason. How it is told is for the caller to add.
func Of(reason durward.Reason) Page {
	kind := reason.Kind()
	return Page{
		Code: reason.Code(), Reason: reason, Summary: reason.Summary(), Kind: kind.String(), Retry: kind.Retry(),
		Words: WordsOf(reason), Answers: []Answer{},
	}
}

// Find gives the reason that a code or a word names, in any case of letters.
func Find(word string) (durward.Reason, bool) {
	for _, reason := range durward.Reasons() {
		if strings.EqualFold(word, reason.Code()) || strings.EqualFold(word, string(reason)) {
			return reason, true
		}
	}
	return "", false
}

// Area is the part of a code that says what it is about: POLICY.
func Area(reason durward.Reason) string {
	_, code, _ := strings.Cut(reason.Code(), "-")
	area, _, _ := strings.Cut(code, "-")
	return area
}

// retries say what becomes of the same request when it is made again.
var retries = map[durward.Retry]string{
	durward.RetryLater: "the same may go well later",
	durward.FixState:   "the same goes well once the machine is as it should be",
	durward.FixRequest: "another request is needed",
	durward.RetryNever: "the same is answered in the same way",
}

// A fact is a row of the table of a page.
type fact struct{ name, says string }

// facts lists what the tables say, names in quotes for programs between quote.
func (p Page) facts(quote string) []fact {
	quoted := func(word string) string { return quote + word + quote }
	rows := []fact{
		{"word", quoted(string(p.Reason))},
		{"kind", p.Kind},
		{"retry", quoted(string(p.Retry)) + ": " + retries[p.Retry]},
		{"exit status", strconv.Itoa(p.ExitStatus) + "; of " + quoted("durward exec") + " " + strconv.Itoa(p.ExecExitStatus)},
	}
	for _, a := range p.Answers {
		name := quoted("durward " + a.Door)
		if a.Methods != "" {
			name += ", " + quoted(a.Methods)
		}
		says := ""
		switch {
		case a.HTTPStatus != 0:
			says = "HTTP " + strconv.Itoa(a.HTTPStatus)
		case a.JSONRPCCode != 0:
			says = "JSON-RPC " + strconv.Itoa(a.JSONRPCCode)
		}
		if a.Word != "" {
			says += ", " + quoted(a.Word)
		}
		rows = append(rows, fact{name, says})
	}
	return rows
}

// Markdown gives the page as it lies in docs/errors.
func (p Page) Markdown() string {
	var b strings.Builder
	b.WriteString("# " + p.Code + ": " + p.Summary + "\n")
	for _, section := range []fact{{"What happened", p.Happened}, {"Causes", p.Causes}, {"Fix", p.Fix}, {"How to prevent it", p.Prevent}} {
		b.WriteString("\n## " + section.name + "\n\n" + sentence(section.says) + "\n")
	}
	b.WriteString("\n## How it is told\n\n| | |\n|---|---|\n")
	for _, row := range p.facts("`") {
		b.WriteString("| " + row.name + " | " + row.says + " |\n")
	}
	b.WriteString("\n`durward help " + p.Code + "` prints the same. [All codes](../errors.md)\n")
	return b.String()
}

// Text gives the page for a terminal.
func (p Page) Text() string {
	var b strings.Builder
	b.WriteString(wrapped(p.Code+" "+string(p.Reason)+": "+p.Summary, "  ") + "\n" + wrapped(p.Happened, "") + "\n")
	for _, item := range []fact{{"Causes:  ", p.Causes}, {"Fix:     ", p.Fix}, {"Prevent: ", p.Prevent}} {
		b.WriteString(wrapped(item.name+item.says, "         "))
	}
	b.WriteString("\n")
	rows := p.facts("")
	width := 0
	for _, row := range rows {
		width = max(width, len(row.name))
	}
	for _, row := range rows {
		b.WriteString(row.name + strings.Repeat(" ", width-len(row.name)+2) + row.says + "\n")
	}
	return b.String()
}

// sentence has a text begin as one.
func sentence(text string) string {
	if text == "" || strings.HasPrefix(text, "`") {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// wrapped breaks a text into lines; all but the first begin with indent.
func wrapped(text, indent string) string {
	const width = 96
	var b strings.Builder
	line, rest, more := strings.Cut(text, " ")
	for word := ""; more; {
		if word, rest, more = strings.Cut(rest, " "); len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = indent + word
			continue
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}

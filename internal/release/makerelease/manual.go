package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manual writes a page for each command below and including root. cobra's own generator goes
// through Markdown, which takes characters of our texts for marks, and leaves out what the
// value of a flag is called.
func manual(root *cobra.Command, s source) []file {
	root.InitDefaultHelpFlag()
	pages := []file{{name: pageName(root) + ".1", body: []byte(page(root, s))}}
	for _, c := range below(root) {
		pages = append(pages, manual(c, s)...)
	}
	return pages
}

func below(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return !c.IsAvailableCommand() })
}

// pageName is durward-audit-tail for durward audit tail.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func page(cmd *cobra.Command, s source) string {
	var p roff
	p.line(".TH %q 1 %q %q %q", strings.ToUpper(pageName(cmd)), s.time.Format("2006-01-02"), "durward "+s.version, "durward")
	p.line(".SH NAME")
	p.line("%s \\- %s", escaped(pageName(cmd)), escaped(cmd.Short))
	p.line(".SH SYNOPSIS")
	p.line("\\fB%s\\fR%s", escaped(cmd.CommandPath()), escaped(strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath())))
	if cmd.Example != "" {
		p.line(".SH EXAMPLES")
		p.text(cmd.Example)
	}
	if cmd.Long != "" {
		p.line(".SH DESCRIPTION")
		p.text(cmd.Long)
	}
	if commands := below(cmd); len(commands) > 0 {
		p.line(".SH COMMANDS")
		for _, c := range commands {
			p.item("\\fB"+escaped(pageName(c))+"\\fR(1)", c.Short)
		}
	}
	p.flags("FLAGS", cmd.LocalFlags())
	p.flags("GLOBAL FLAGS", cmd.InheritedFlags())
	if cmd.HasParent() {
		p.line(".SH SEE ALSO")
		p.line("\\fB%s\\fR(1)", escaped(pageName(cmd.Parent())))
	}
	return p.String()
}

// A roff is a page in the language of man.
type roff struct{ strings.Builder }

func (p *roff) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// text writes paragraphs, which are filled, and indented lines, which stay as they are.
func (p *roff) text(text string) {
	kept := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if indented := strings.HasPrefix(line, "  "); indented != kept && line != "" {
			if kept = indented; kept {
				p.line(".PP\n.nf")
			} else {
				p.line(".fi\n.PP")
			}
		}
		switch {
		case line == "":
			p.line(".PP")
		default:
			p.line("%s", escaped(line))
		}
	}
	if kept {
		p.line(".fi")
	}
}

// item writes a term and what is said of it.
func (p *roff) item(term, text string) {
	p.line(".TP\n%s\n%s", term, escaped(text))
}

func (p *roff) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.line(".SH %s", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		term := "\\fB" + escaped("--"+f.Name) + "\\fR"
		if f.Shorthand != "" {
			term = "\\fB" + escaped("-"+f.Shorthand) + "\\fR, " + term
		}
		if value != "" {
			term += " " + escaped(value)
		}
		if !slices.Contains([]string{"", "0", "false", "[]"}, f.DefValue) {
			usage += " (default " + f.DefValue + ")"
		}
		p.item(term, usage)
	})
}

// escaped writes text so that man prints these very characters.
func escaped(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") {
		return `\&` + text
	}
	return text
}

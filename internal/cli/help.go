package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
	"github.com/durward/durward/internal/config"
	execdoor "github.com/durward/durward/internal/door/execserver"
	"github.com/durward/durward/internal/door/gateway"
	"github.com/durward/durward/internal/door/hub"
	"github.com/durward/durward/internal/door/mcp"
	"github.com/durward/durward/internal/door/site"
	"github.com/durward/durward/internal/errorpage"
	"github.com/durward/durward/internal/jsonrpc"
)

//go:generate go test . -run ^TestEveryCodeHasItsPage$ -update

// errorsTopic is the word that lists the codes.
const errorsTopic = "errors"

func (p *program) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND…|CODE|errors]", Short: "show the help of a command, or what an error code means",
		Long: `A code is that of an error, DWD-POLICY-002, or the word behind it, limit_denied. Its page says what
happened, the causes, what to do, and how each door tells it. The word errors lists all codes.`,
		Example: "  durward help audit tail\n  durward help DWD-POLICY-002\n  durward help errors",
		RunE: func(cmd *cobra.Command, words []string) error {
			found, rest, err := cmd.Root().Find(words)
			switch {
			case err == nil && len(rest) == 0:
				return found.Help()
			case len(words) == 1 && words[0] == errorsTopic:
				return p.listErrors()
			case len(words) == 1:
				return p.explainWord(cmd.Root(), words[0])
			case err == nil:
				err = unknownCommand(found, rest)
			}
			return err
		},
	}
}

// explainWord shows the page of a code or of its word.
func (p *program) explainWord(root *cobra.Command, word string) error {
	reason, ok := errorpage.Find(word)
	if !ok {
		return unknownWord(root, word)
	}
	page := pageOf(reason)
	if p.json {
		return p.print(page)
	}
	_, err := io.WriteString(p.stdout, page.Text())
	return err
}

// unknownWord refuses what is neither a command nor a code, and suggests one.
func unknownWord(root *cobra.Command, word string) error {
	const all = mainName + " help " + errorsTopic + " lists all codes"
	var codes, names []string
	for _, reason := range durward.Reasons() {
		codes, names = append(codes, reason.Code()), append(names, string(reason))
	}
	if strings.HasPrefix(strings.ToUpper(word), "DWD-") {
		fix := all
		if near := config.Nearest(word, codes); near != "" {
			fix = "did you mean " + mainName + " help " + near + "? " + all
		}
		return usageError(fix, "there is no error code %q", word)
	}
	err := unknownCommand(root, []string{word})
	if near := config.Nearest(word, names); near != "" && len(root.SuggestionsFor(word)) == 0 {
		err = usageError("did you mean "+mainName+" help "+near+"? "+all, "%q is neither a command nor the word of an error", word)
	}
	return err
}

// listErrors lists every code with its word and what it says.
func (p *program) listErrors() error {
	if p.json {
		pages := make([]errorpage.Page, 0, len(durward.Reasons()))
		for _, reason := range durward.Reasons() {
			pages = append(pages, pageOf(reason))
		}
		return p.print(struct {
			Errors []errorpage.Page `json:"errors"`
		}{pages})
	}
	rows := [][]string{{"CODE", "WORD", "KIND", "WHAT"}}
	for _, reason := range durward.Reasons() {
		rows = append(rows, []string{reason.Code(), string(reason), reason.Kind().String(), reason.Summary()})
	}
	return p.table(rows)
}

// pageOf gives the page of a reason, with the answer of every door that has one.
func pageOf(reason durward.Reason) errorpage.Page {
	page := errorpage.Of(reason)
	err := &durward.Error{Reason: reason}
	page.ExitStatus, page.ExecExitStatus = statusOf(err), execStatus(err)
	for _, door := range []struct {
		command string
		answer  func(durward.Reason) (status int, code string, ok bool)
	}{{"serve", site.AnswerTo}, {"gateway", gateway.AnswerTo}, {"hub", hub.AnswerTo}} {
		if status, code, ok := door.answer(reason); ok && status != durward.StatusClientClosedRequest {
			page.Answers = append(page.Answers, errorpage.Answer{Door: door.command, HTTPStatus: status, Word: code})
		}
	}
	if code, words, ok := mcp.CodeOf(reason); ok {
		page.Answers = append(page.Answers, errorpage.Answer{Door: "mcp", JSONRPCCode: code, Word: words})
	}
	page.Answers = append(page.Answers, execServerAnswers(reason)...)
	return page
}

// execServerMethods are the families of methods of the exec server, and the areas of what each can
// come upon.
var execServerMethods = []struct {
	methods, one string
	areas        []string
}{
	{"process/*", protocol.ProcessStart, []string{"CALL", "POLICY", "SANDBOX", "FS"}},
	{"fs/*", protocol.FSReadFile, []string{"CALL", "POLICY", "FS"}},
	{"http/request", protocol.HTTPRequest, []string{"NET", "POLICY"}},
}

// execServerAnswers gives the codes of an exec server that say more than that something failed.
func execServerAnswers(reason durward.Reason) []errorpage.Answer {
	var answers []errorpage.Answer
	for _, family := range execServerMethods {
		code := execdoor.CodeFor(family.one, reason)
		if code == jsonrpc.InternalError || !slices.Contains(family.areas, errorpage.Area(reason)) {
			continue
		}
		answers = append(answers, errorpage.Answer{Door: "exec-server", Methods: family.methods, JSONRPCCode: code, Word: string(reason)})
	}
	return answers
}

// helpFor is the command that says what a code means.
func helpFor(code string) string { return mainName + " help " + code }

// helpFound shows a command, unless the words behind it name one below it that there is not.
func helpFound(w io.Writer, cmd *cobra.Command) error {
	if cmd.HasSubCommands() {
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			return err
		}
	}
	help(w, cmd)
	return nil
}

// help shows a command, its examples first.
func help(w io.Writer, cmd *cobra.Command) {
	if cmd.Example != "" {
		fmt.Fprintf(w, "Examples:\n%s\n\n", cmd.Example)
	}
	fmt.Fprintf(w, "%s: %s\n", cmd.CommandPath(), cmd.Short)
	if cmd.Long != "" {
		fmt.Fprintf(w, "\n%s\n", cmd.Long)
	}
	fmt.Fprintf(w, "\nUsage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintln(w, "\nCommands:")
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(w, "  %-*s  %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", cmd.LocalFlags().FlagUsages())
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprintf(w, "\nGlobal flags:\n%s", cmd.InheritedFlags().FlagUsages())
	}
}

package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/mcppolicy"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/sandbox"
)

func (p *program) editPolicyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit", Short: "change a policy by an editor", Args: exactly(0),
		Long: "The program in VISUAL, or else in EDITOR, gets a copy. It takes the place of the policy once it has no\n" +
			"mistake; the former text is kept beside it in a file that ends in .bak. Where there is no policy the copy is a\n" +
			"first one.",
		Example: "  durward policy edit\n  durward policy edit --policy examples/policy.quickstart.yaml",
	}
	file := policyFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		c := &policyChange{textChange: textChange{program: p}}
		return c.byHand(*file)
	}
	return cmd
}

// byHand has a person change a copy of the policy, and keeps the copy where it was
// changed for nothing.
func (c *policyChange) byHand(named string) error {
	editor := cmp.Or(strings.TrimSpace(c.env["VISUAL"]), strings.TrimSpace(c.env["EDITOR"]))
	if editor == "" {
		return usageError("set EDITOR to the name of an editor", "neither VISUAL nor EDITOR is set")
	}
	if err := c.read(named, true); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "durward-policy-")
	if err != nil {
		return unedited(err)
	}
	draft := filepath.Join(dir, policyFileName)
	if err := os.WriteFile(draft, c.was, 0o600); err != nil {
		return errors.Join(unedited(err), os.RemoveAll(dir))
	}
	err = c.install(editor, draft)
	text, _, lost := readMCPPolicy(draft)
	if err != nil && !errors.Is(lost, fs.ErrNotExist) && (lost != nil || !bytes.Equal(text, c.was)) {
		c.note("%s is left as it is; the text that was edited is kept in %s", safetext.Line(c.file), safetext.Line(draft))
		return err
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// install opens the draft until it holds a policy, and puts that in the place of the one
// there is.
func (c *policyChange) install(editor, draft string) error {
	for {
		if err := c.runEditor(editor, draft); err != nil {
			return unedited(err)
		}
		text, err := readDraft(draft)
		if err != nil {
			return err
		}
		policy, err := c.compileMCP(c.file, text, c.mode, false)
		switch {
		case !c.first && bytes.Equal(text, c.was):
			return c.tellUnedited()
		case err == nil:
			backup, err := c.put(text)
			if err != nil {
				return overtaken(err)
			}
			return c.tellEdited(policy, text, backup)
		case !c.asks():
			return err
		}
		c.explain(failureOf(err, ""), "")
		if !c.again() {
			return exitStatus(statusOf(err))
		}
	}
}

// readDraft reads what the editor left.
func readDraft(draft string) ([]byte, error) {
	text, _, err := readMCPPolicy(draft)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &durward.Error{
			Reason: durward.FileIO, Op: "edit the policy", Hint: "edit it again, and save the copy under its own name",
			Err: errors.New("the editor removed the copy that it got; nothing was changed"),
		}
	}
	return text, err
}

// overtaken says of a text that was edited for nothing, as the policy is another one by now, what
// becomes of it.
func overtaken(err error) error {
	e := durward.AsError(err)
	if e == nil || e.Reason != durward.ChangedMeanwhile {
		return err
	}
	told := *e
	told.Hint = "edit it again: the editor gets what is there now; take over from the text that is kept what you want of it"
	return &told
}

func (c *policyChange) tellUnedited() error {
	if c.json {
		return c.print(changeData{File: c.file, Lines: []string{}})
	}
	_, err := fmt.Fprintf(c.stdout, "nothing changed in %s\n", safetext.Line(c.file))
	return err
}

func (c *policyChange) tellEdited(policy *mcppolicy.Policy, text []byte, backup string) error {
	if c.json {
		data := changeData{File: c.file, Changed: true, Made: c.first, Hash: policy.Hash, Backup: backup, Lines: changedLines(c.was, text)}
		if c.first {
			data.Lines = changedLines(nil, text)
		}
		return c.print(data)
	}
	c.noteWarnings(policy)
	if c.first {
		_, err := fmt.Fprintf(c.stdout, "made %s%s\n", safetext.Line(c.file), c.nextStep())
		return err
	}
	_, err := fmt.Fprintf(c.stdout, "edited %s; the former text is in %s\n", safetext.Line(c.file), safetext.Line(backup))
	return err
}

// asks says whether there is a person to ask.
func (c *policyChange) asks() bool {
	return !c.json && !c.noInput && isTerminal(c.stdin) && c.stderr.terminal
}

// again asks whether the draft is to be opened once more.
func (c *policyChange) again() bool {
	forgetTyped(c.stdin)
	fmt.Fprint(c.stderr, "open it again? [Y/n] ")
	answer, err := bufio.NewReader(c.stdin).ReadString('\n')
	return err == nil && slices.Contains([]string{"", "y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}

// runEditor waits for the editor, to which an interrupt belongs while it runs.
func (c *policyChange) runEditor(editor, draft string) error {
	cmd, err := c.editorCommand(editor, draft)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdinOrNothing(), c.stderr.to, c.stderr.to
	if c.stdout.terminal {
		cmd.Stdout = c.stdout.to
	}
	theirs := make(chan os.Signal, 1)
	signal.Notify(theirs, os.Interrupt)
	defer signal.Stop(theirs)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor %s: %w", editor, err)
	}
	return nil
}

// editorCommand starts an editor whose name may have arguments behind it. No program is taken from
// the working directory because PATH has a relative entry.
func (p *program) editorCommand(editor, draft string) (*exec.Cmd, error) {
	if runtime.GOOS == "windows" {
		words := append(strings.Fields(editor), draft)
		return exec.Command(words[0], words[1:]...), nil // refuses such a program by itself
	}
	path := sandbox.SearchPath(p.env["PATH"])
	shell, err := sandbox.FindProgram("sh", path, "/")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(shell.Path, "-c", editor+` "$@"`, "sh", draft)
	cmd.Args[0], cmd.Env = "sh", append(os.Environ(), "PATH="+path)
	return cmd, shell.Close() // it was only found
}

func unedited(err error) error {
	return &durward.Error{Reason: durward.FileIO, Op: "edit the policy", Hint: "set EDITOR to an editor that works", Err: err}
}

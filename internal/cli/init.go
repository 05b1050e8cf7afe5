package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/site"
)

// ignored are the lines that .gitignore needs: what stands in the file is secret.
var ignored = []string{".env"}

// An initialising is one `durward init`.
type initialising struct {
	*program
	dir, template string
	yes, dryRun   bool
}

type initData struct {
	DryRun bool       `json:"dry_run"`
	Dir    string     `json:"dir"`
	Files  []initFile `json:"files"`
}

// An initFile is a file of a new site and what becomes of it.
type initFile struct {
	Path   string     `json:"path"`
	Action initAction `json:"action"`
	text   []byte
	mode   fs.FileMode // zero is 0644
}

type initAction string

const (
	actionMake    initAction = "made"
	actionReplace initAction = "replaced"
	actionExtend  initAction = "extended"
	actionKeep    initAction = "kept"
)

func (p *program) initCommand() *cobra.Command {
	x := &initialising{program: p}
	cmd := &cobra.Command{
		Use: "init [FLAG…] [DIR]", Short: "begin a folder of pages, a policy for MCP clients, or the servers of a hub", Args: atMost(1),
		Long: `Makes README.md with a tool that works, AGENTS.md, which tells agents what to do, and a .gitignore
that lists .env. With --template mcp it makes policy.yaml instead, under which durward mcp lets clients read the files of
the folder, and with --template hub config/mcp_servers.json, the servers of durward hub. What is there is kept,
unless you agree when you are asked, or with --yes; lines that .gitignore lacks are added to it.`,
		Example: "  durward init --dry-run notes\n  durward init notes --template docs\n  durward init --template mcp work",
		RunE: func(_ *cobra.Command, args []string) error {
			x.dir = "."
			if len(args) > 0 {
				x.dir = args[0]
			}
			return x.run()
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&x.template, "template", defaultTemplate, "begin with what this `NAME` stands for: "+strings.Join(kitNames(), ", "))
	f.BoolVar(&x.yes, "yes", false, "replace the files that are there")
	f.BoolVar(&x.dryRun, "dry-run", false, "say what would be made and make nothing")
	return cmd
}

func (x *initialising) run() error {
	if x.dir == "" {
		return usageError("name a folder, or leave it out for the working directory", "DIR is empty")
	}
	k, files, err := x.plan()
	if err != nil {
		return err
	}
	if !x.dryRun {
		if err := x.write(files); err != nil {
			return linkError(err)
		}
	}
	return x.report(k, files)
}

// plan decides what becomes of each file and changes nothing.
func (x *initialising) plan() (k kit, files []initFile, err error) {
	all := kits()
	at := slices.IndexFunc(all, func(k kit) bool { return k.name == x.template })
	if at < 0 {
		return k, nil, usageError("use "+strings.Join(kitNames(), ", "), "there is no template %q", x.template)
	}
	if info, err := os.Stat(x.dir); err == nil && !info.IsDir() {
		return k, nil, linkError(fmt.Errorf("%s: %w", x.dir, syscall.ENOTDIR))
	}
	files, err = all[at].files(x)
	answers := bufio.NewReader(x.stdinOrNothing())
	for i := range files {
		if f := &files[i]; err == nil && f.Action == "" {
			f.Path = filepath.Join(x.dir, f.Path)
			f.Action, err = x.actionFor(*f, answers)
		}
	}
	return all[at], files, err
}

// defaultSite is where a new site is served unless somebody chooses otherwise.
var defaultSite = fmt.Sprintf("http://%s:%d", site.DefaultHost, site.DefaultPort)

// actionFor decides about a file that is made whole.
func (x *initialising) actionFor(f initFile, answers *bufio.Reader) (initAction, error) {
	info, err := os.Lstat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return actionMake, nil
	case err != nil:
		return "", linkError(err)
	case !info.Mode().IsRegular():
		return actionKeep, nil // a link or a folder is no page of ours to replace
	case x.yes:
		return actionReplace, nil
	}
	return x.ask(f.Path, answers), nil
}

// ask asks a person whether a file is to be replaced. Where nobody could answer it is
// kept.
func (x *initialising) ask(file string, answers *bufio.Reader) initAction {
	if !x.dryRun && x.canAsk() && x.agrees("replace "+safetext.Line(file)+"?", answers) {
		return actionReplace
	}
	return actionKeep
}

func (p *program) stdinOrNothing() io.Reader {
	if p.stdin == nil {
		return strings.NewReader("")
	}
	return p.stdin
}

// planIgnore adds the lines that a .gitignore lacks.
func planIgnore(file string) (initFile, error) {
	f := initFile{Path: file, Action: actionExtend}
	if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
		f.Action = actionKeep
		return f, nil
	}
	was, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Action = actionMake
	case err != nil:
		return f, linkError(err)
	}
	lines := strings.Split(strings.ReplaceAll(string(was), "\r\n", "\n"), "\n")
	for _, line := range ignored {
		if !slices.Contains(lines, line) {
			f.text = append(f.text, line+"\n"...)
		}
	}
	if f.Action == actionExtend && len(f.text) == 0 {
		f.Action = actionKeep
	} else if len(was) > 0 && !bytes.HasSuffix(was, []byte("\n")) {
		f.text = append([]byte("\n"), f.text...)
	}
	return f, nil
}

func (x *initialising) write(files []initFile) error {
	if err := os.MkdirAll(x.dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(f.Path), 0o755), f.write()); err != nil {
			return err
		}
	}
	return nil
}

func (f initFile) write() error {
	switch f.Action {
	case actionMake:
		return writeWith(f.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, cmp.Or(f.mode, 0o644), f.text) // nobody made it meanwhile
	case actionExtend:
		return writeWith(f.Path, os.O_APPEND|os.O_WRONLY, 0, f.text)
	case actionReplace:
		return replaceFile(f.Path, f.text)
	}
	return nil
}

// replaceFile puts another file in the place of one, open to the same users.
func replaceFile(file string, text []byte) error {
	was, err := os.Lstat(file)
	if err != nil {
		return err
	}
	aside, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".new*")
	if err != nil {
		return err
	}
	_, err = aside.Write(text)
	err = errors.Join(err, aside.Chmod(was.Mode().Perm()), aside.Close())
	if err == nil {
		err = os.Rename(aside.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(aside.Name()))
	}
	return nil
}

func writeWith(file string, flags int, mode fs.FileMode, text []byte) error {
	f, err := os.OpenFile(file, flags, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// report says what was done, or would be, and what to do next.
func (x *initialising) report(k kit, files []initFile) error {
	if x.json {
		return x.print(initData{DryRun: x.dryRun, Dir: x.dir, Files: files})
	}
	if x.dryRun {
		for _, f := range files {
			fmt.Fprintf(x.stdout, "would be %s: %s\n", f.Action, safetext.Line(f.Path)) // its loss is told at the end
		}
		return nil
	}
	var parts []string
	for _, action := range []initAction{actionMake, actionReplace, actionExtend, actionKeep} {
		var names []string
		for _, f := range files {
			if f.Action == action {
				names = append(names, f.nameIn(x.dir))
			}
		}
		if len(names) > 0 {
			parts = append(parts, string(action)+" "+strings.Join(names, ", "))
		}
	}
	dir := safetext.Line(x.dir)
	_, err := fmt.Fprintf(x.stdout, "%s in %s; next: %s\n", strings.Join(parts, "; "), dir, k.next(dir))
	return err
}

// nameIn is the path of a file from the folder on.
func (f initFile) nameIn(dir string) string {
	name, err := filepath.Rel(dir, f.Path)
	if err != nil {
		return f.Path
	}
	return name
}

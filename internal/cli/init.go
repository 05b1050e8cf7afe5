package cli

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/durward/durward/internal/door/site/render"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/site"
)

// templates are the first pages that a site can begin with.
//
//go:embed templates/*.md
var templates embed.FS

// defaultTemplate is the one with the least to understand.
const defaultTemplate = "hello"

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
		Use: "init [FLAG…] [DIR]", Short: "make a folder of pages to serve", Args: atMost(1),
		Long: `Makes README.md with a tool that works, AGENTS.md, which tells agents what to do, and a .gitignore
that lists .env. What is there is kept, unless you agree when you are asked, or with --yes; lines that
.gitignore lacks are added to it.`,
		Example: "  durward init --dry-run notes\n  durward init notes --template docs",
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
	f.StringVar(&x.template, "template", defaultTemplate, "begin with the page of this `NAME`: "+strings.Join(templateNames(), ", "))
	f.BoolVar(&x.yes, "yes", false, "replace the files that are there")
	f.BoolVar(&x.dryRun, "dry-run", false, "say what would be made and make nothing")
	return cmd
}

func templateNames() []string {
	files, err := fs.Glob(templates, "templates/*.md")
	if err != nil {
		return nil // the pattern is right
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".md")
	}
	return files
}

func (x *initialising) run() error {
	if x.dir == "" {
		return usageError("name a folder, or leave it out for the working directory", "DIR is empty")
	}
	files, err := x.plan()
	if err != nil {
		return err
	}
	if !x.dryRun {
		if err := x.write(files); err != nil {
			return linkError(err)
		}
	}
	return x.report(files)
}

// plan decides what becomes of each file and changes nothing.
func (x *initialising) plan() ([]initFile, error) {
	if !slices.Contains(templateNames(), x.template) {
		return nil, usageError("use "+strings.Join(templateNames(), " or "), "there is no template %q", x.template)
	}
	page, err := templates.ReadFile("templates/" + x.template + ".md")
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(x.dir); err == nil && !info.IsDir() {
		return nil, linkError(fmt.Errorf("%s: %w", x.dir, syscall.ENOTDIR))
	}
	answers := bufio.NewReader(x.stdinOrNothing())
	var files []initFile
	for _, f := range []initFile{{Path: "README.md", text: page}, {Path: render.AgentsPath, text: render.AgentsGuide(defaultSite)}} {
		f.Path = filepath.Join(x.dir, f.Path)
		if f.Action, err = x.actionFor(f, answers); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	ignore, err := planIgnore(filepath.Join(x.dir, ".gitignore"))
	return append(files, ignore), err
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
		if err := f.write(); err != nil {
			return err
		}
	}
	return nil
}

func (f initFile) write() error {
	switch f.Action {
	case actionMake:
		return writeWith(f.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.text) // nobody made it meanwhile
	case actionExtend:
		return writeWith(f.Path, os.O_APPEND|os.O_WRONLY, f.text)
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

func writeWith(file string, flags int, text []byte) error {
	f, err := os.OpenFile(file, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// report says what was done, or would be, and what to do next.
func (x *initialising) report(files []initFile) error {
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
				names = append(names, filepath.Base(f.Path))
			}
		}
		if len(names) > 0 {
			parts = append(parts, string(action)+" "+strings.Join(names, ", "))
		}
	}
	dir := safetext.Line(x.dir)
	_, err := fmt.Fprintf(x.stdout, "%s in %s; next: durward serve %s\n", strings.Join(parts, "; "), dir, shellPath(dir))
	return err
}

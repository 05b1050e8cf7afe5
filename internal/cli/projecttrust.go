package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/smallfile"
	"github.com/durward/durward/internal/trust"
)

func (p *program) trustCommand() *cobra.Command {
	return group(&cobra.Command{
		Use: "trust", Short: "say which files of projects may start or set something",
		Long: `A folder that came from somewhere else may hold files that say what is started. durward goes by those of the working
directory, durward.yaml and config/mcp_servers.json, only after you have trusted them as they are: trust is bound to the place and
the content of a file, is kept outside of the folder, and ends with any change. A file that you name with a command needs none.`,
		Example: "  durward trust add\n  durward trust list",
	}, p.addTrustCommand(), p.listTrustCommand(), p.removeTrustCommand())
}

// A projectFile is a kind of file that durward goes by where it stands in the working directory.
type projectFile struct {
	name string
	// next is a command that goes by it.
	next string
	// effects says what it would start or set, or which mistakes it has.
	effects func(p *program, f trust.File, name string) ([]trustEffect, error)
}

func projectFiles() []projectFile {
	return []projectFile{
		{projectConfig, "durward doctor", (*program).effectsOfConfig},
		{projectServers, "durward hub", (*program).effectsOfServers},
	}
}

// A trusting is one `durward trust add`.
type trusting struct {
	*program
	yes, dryRun bool
	store       trust.Store
	files       []*trustedFile
}

// A trustedFile is a file together with what trust in it means.
type trustedFile struct {
	kind projectFile
	read trust.File
	trustData
}

type trustsData struct {
	DryRun  bool         `json:"dry_run"`
	Changed bool         `json:"changed"`
	Files   []*trustData `json:"files"`
}

// A trustData tells of one file.
type trustData struct {
	// File is the path as it was given, Path the physical one.
	File   string `json:"file"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	// State is how it was before.
	State   trust.State   `json:"state"`
	Effects []trustEffect `json:"effects"`
}

func (p *program) addTrustCommand() *cobra.Command {
	t := &trusting{program: p}
	cmd := &cobra.Command{
		Use: "add [FILE]", Short: "trust a file of a project as it is now", Args: atMost(1),
		Long: `Shows what the file would start or set, and asks whether that is well; without a terminal it takes --yes. What is trusted is
the very text that is shown. Without FILE those of durward.yaml and config/mcp_servers.json are meant that are in the working
directory. Nothing is started.`,
		Example: "  durward trust add --dry-run\n  durward trust add config/mcp_servers.json --yes",
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&t.yes, "yes", false, "trust it without being asked")
	f.BoolVar(&t.dryRun, "dry-run", false, "show what it would start or set, and change nothing")
	cmd.RunE = func(_ *cobra.Command, args []string) error { return t.add(args) }
	return cmd
}

func (t *trusting) add(named []string) (err error) {
	if t.store, err = t.trustStore(); err != nil {
		return err
	}
	if err := t.readAll(named); err != nil {
		return err
	}
	data := trustsData{DryRun: t.dryRun, Files: []*trustData{}}
	var fresh []*trustedFile
	for _, f := range t.files {
		data.Files = append(data.Files, &f.trustData)
		if f.State != trust.Trusted {
			fresh = append(fresh, f)
		}
	}
	data.Changed = len(fresh) > 0
	if err := t.consent(fresh); err != nil {
		return err
	}
	for _, f := range fresh {
		if t.dryRun {
			break
		}
		if err := t.store.Add(f.read, time.Now()); err != nil {
			return untrustable(err)
		}
	}
	if t.json {
		return t.print(data)
	}
	return t.tell(fresh)
}

// readAll reads the file that was named, or those that are there.
func (t *trusting) readAll(named []string) error {
	for _, name := range named {
		kind, err := t.kindOf(name)
		if err == nil {
			err = t.readOne(kind, name)
		}
		if err != nil {
			return err
		}
	}
	if len(named) > 0 {
		return nil
	}
	var names []string
	for _, kind := range projectFiles() {
		names = append(names, kind.name)
		if err := t.readOne(kind, kind.name); err != nil && durward.ReasonOf(err) != durward.FileNotFound {
			return err
		}
	}
	if len(t.files) > 0 {
		return nil
	}
	return &durward.Error{
		Reason: durward.FileNotFound, Op: "trust", Hint: "go to the folder of the project, or name the file",
		Err: fmt.Errorf("there is no %s here", strings.Join(names, " and no ")),
	}
}

// kindOf tells by its name what a file is for.
func (t *trusting) kindOf(name string) (projectFile, error) {
	path := filepath.ToSlash(absolute(name, t.dir))
	var names []string
	for _, kind := range projectFiles() {
		if strings.HasSuffix(path, "/"+kind.name) {
			return kind, nil
		}
		names = append(names, kind.name)
	}
	return projectFile{}, usageError("trust is for "+strings.Join(names, " and ")+" of a folder; name any other file with the command that is to go by it",
		"%s is no file that durward looks for by itself", name)
}

func (t *trusting) readOne(kind projectFile, name string) error {
	read, err := trust.Read(absolute(name, t.dir))
	if err != nil {
		reason := durward.FileIO
		if errors.Is(err, fs.ErrNotExist) {
			reason = durward.FileNotFound
		}
		return &durward.Error{Reason: reason, Op: "trust", Hint: "name a file that can be read", Err: fmt.Errorf("%s: %w", name, err)}
	}
	state, err := t.store.State(read)
	if err != nil {
		return untrustable(err)
	}
	effects, err := kind.effects(t.program, read, name)
	if err != nil {
		return err
	}
	t.files = append(t.files, &trustedFile{kind, read, trustData{name, read.Path, read.SHA256(), state, effects}})
	return nil
}

// consent shows what the files would do, and asks for a word on it.
func (t *trusting) consent(files []*trustedFile) error {
	if len(files) == 0 || t.yes || t.dryRun {
		return nil
	}
	var names []string
	for _, f := range files {
		names = append(names, safetext.Line(f.File))
		fmt.Fprint(t.stderr, f.shown())
	}
	all := strings.Join(names, " and ")
	if !t.canAsk() {
		return usageError("read it with durward trust add --dry-run, and trust it with --yes", "%s: here is nobody to ask", all)
	}
	if t.agrees("trust "+all+" as it is?", bufio.NewReader(t.stdinOrNothing())) {
		return nil
	}
	return notTrusted(files[0].File, files[0].State, "nothing was changed; what is not trusted has no effect")
}

// shown gives the file and all that it would do, a line each.
func (f *trustedFile) shown() string {
	var b strings.Builder
	b.WriteString(safetext.Line(f.File) + leadsTo(safetext.Line(f.File), safetext.Line(f.Path)) + "\n")
	for _, e := range f.Effects {
		b.WriteString("  " + safetext.Line(e.String()) + "\n")
	}
	if len(f.Effects) == 0 {
		b.WriteString("  starts and sets nothing\n")
	}
	return b.String()
}

// tell says what was done with the files that were not trusted yet.
func (t *trusting) tell(fresh []*trustedFile) error {
	var b strings.Builder
	for _, f := range fresh {
		if t.dryRun {
			b.WriteString("would trust " + f.shown())
		} else {
			fmt.Fprintf(&b, "trusted %s as it is, %s; next: %s\n", safetext.Line(f.File), f.sum(), f.kind.next)
		}
	}
	if len(fresh) == 0 {
		b.WriteString("trusted already; nothing changed\n")
	}
	_, err := fmt.Fprint(t.stdout, b.String())
	return err
}

// sum counts what the file does.
func (f *trustedFile) sum() string {
	counts := map[string]int{}
	for _, e := range f.Effects {
		counts[e.What]++
	}
	var parts []string
	for _, c := range []struct{ what, noun string }{{effectStarts, "program"}, {effectAsks, "address"}, {effectSets, "setting"}} {
		if n := counts[c.what]; n > 0 {
			parts = append(parts, plural(n, c.noun))
		}
	}
	if len(parts) == 0 {
		return "with nothing in it"
	}
	return "with " + strings.Join(parts, " and ")
}

type trustListData struct {
	Files []trustListed `json:"files"`
}

type trustListed struct {
	State  trust.State `json:"state"`
	Path   string      `json:"path"`
	SHA256 string      `json:"sha256"`
	At     time.Time   `json:"at"`
}

func (p *program) listTrustCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "list the files that were trusted, and whether that holds", Args: exactly(0),
		Long: `A file is trusted while it is what it was; it has changed when it holds anything else, or cannot be read, and is missing when
it is not at its place any more.`,
		Example: "  durward trust list\n  durward trust list --json",
		RunE:    func(*cobra.Command, []string) error { return p.listTrust() },
	}
}

func (p *program) listTrust() error {
	store, err := p.trustStore()
	if err != nil {
		return err
	}
	entries, err := store.Entries()
	if err != nil {
		return untrustable(err)
	}
	data := trustListData{Files: []trustListed{}}
	rows := [][]string{{"STATE", "SINCE", "FILE"}}
	for _, e := range entries {
		state := e.State()
		data.Files = append(data.Files, trustListed{state, e.Path, e.SHA256, e.At})
		rows = append(rows, []string{string(state), e.At.Format(time.RFC3339), e.Path})
	}
	switch {
	case p.json:
		return p.print(data)
	case len(entries) == 0:
		_, err := fmt.Fprintln(p.stdout, "no file is trusted; durward trust add does it, in the folder of a project")
		return err
	}
	return p.table(rows)
}

type untrustData struct {
	DryRun bool   `json:"dry_run"`
	Path   string `json:"path"`
}

func (p *program) removeTrustCommand() *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use: "remove FILE", Aliases: []string{"rm"}, Short: "trust a file no longer", Args: exactly(1),
		Long:    "The file itself stays as it is. It may be gone: then it is named by the path that durward trust list shows.",
		Example: "  durward trust remove config/mcp_servers.json --dry-run\n  durward trust remove config/mcp_servers.json",
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be trusted no longer, and change nothing")
	cmd.RunE = func(_ *cobra.Command, args []string) error { return p.removeTrust(args[0], dryRun) }
	return cmd
}

func (p *program) removeTrust(name string, dryRun bool) error {
	store, err := p.trustStore()
	if err != nil {
		return err
	}
	path, err := p.trustedPath(store, name)
	if err != nil {
		return err
	}
	would := "would trust"
	if !dryRun {
		would = "trusts"
		if _, err := store.Remove(path); err != nil {
			return untrustable(err)
		}
	}
	if p.json {
		return p.print(untrustData{dryRun, path})
	}
	_, err = fmt.Fprintf(p.stdout, "durward %s %s no longer\n", would, safetext.Line(path))
	return err
}

// trustedPath finds the file in the list, by where it is, or by where it was.
func (p *program) trustedPath(store trust.Store, name string) (string, error) {
	entries, err := store.Entries()
	if err != nil {
		return "", untrustable(err)
	}
	path := absolute(name, p.dir)
	places := []string{path, physical(path)}
	if real, err := smallfile.Physical(filepath.Dir(path)); err == nil {
		places = append(places, filepath.Join(real, filepath.Base(path)))
	}
	for _, place := range places {
		for _, e := range entries {
			if e.Path == place {
				return place, nil
			}
		}
	}
	return "", &durward.Error{
		Kind: durward.NotFound, Reason: durward.NotTrusted, Op: "trust", Hint: "see which files are trusted: durward trust list",
		Err: fmt.Errorf("%s was not trusted", name),
	}
}

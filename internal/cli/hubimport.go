package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/clientconfig"
	"github.com/durward/durward/internal/config/edit"
	"github.com/durward/durward/internal/hubconfig"
	"github.com/durward/durward/internal/hubedit"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/internal/smallfile"
)

// mostImported bounds a file of another program, which may keep more in it than servers.
const mostImported = 64 << 20

// mostTaken bounds the servers of one file: with each of them all that is there by then is read again.
const mostTaken = 200

// An importing is one `durward import`.
type importing struct {
	*serversChange
	data    importData
	secrets secrets
	// source is the word that was given, or the file that it means; servers are those that were added.
	source  string
	servers []string
	// connected are the entries that durward wrote itself.
	connected []deed
}

type importData struct {
	changeData
	// From lists the files that were read.
	From []string `json:"from"`
	// Notes are what became of each server, and what could not be carried over.
	Notes []importNote `json:"notes"`
	// Variables are to be set for the hub.
	Variables []importVariable `json:"variables"`
}

type importNote struct {
	Server string     `json:"server,omitempty"`
	What   importWord `json:"what"`
	Where  string     `json:"where,omitempty"`
	Why    string     `json:"why,omitempty"`
}

type importWord string

const (
	importAdded importWord = "added"
	// importTaken servers have the name of one that is there, which stays.
	importTaken   importWord = "taken"
	importRefused importWord = "refused"
	// importSelf servers are durward itself.
	importSelf importWord = "self"
	importLeft importWord = "left"
)

// An importVariable is one that stands for a value that is not written.
type importVariable struct {
	Name string `json:"name"`
	Of   string `json:"of"`
}

func (p *program) importCommand() *cobra.Command {
	dryRun, undo := false, false
	names := clientNames()
	cmd := &cobra.Command{
		Use: "import CLIENT|FILE", Short: "take over the MCP servers that another program was told of", Args: exactly(1),
		Long: "Reads what the user told " + strings.Join(names, ", ") + `, or a file of one of
them, and adds the servers to the configuration of the hub, disabled ones as such. A name that is taken stays as it is. Secrets are not written:
a reference to a variable stands in the place of each, which you set for the hub. What cannot be carried over is listed. Nothing is
started, the other program's file is not touched, and the former text of the hub's is kept beside it in a file that ends in .bak.
--undo puts that text back, or takes the servers out where the file was changed since.`,
		Example:   "  durward import claude-desktop --dry-run\n  durward import .mcp.json\n  durward import .mcp.json --undo",
		ValidArgs: names,
	}
	x := p.hubFlags(cmd)
	cmd.Flags().BoolVar(&undo, "undo", false, "undo the last import from there")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would change and change nothing")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		c, err := x.changeServers(dryRun, !undo, false)
		if err != nil {
			return err
		}
		m := &importing{serversChange: c, secrets: secrets{}, source: args[0]}
		if !clientconfig.Known(args[0]) {
			m.foreign, m.source = !undo, absolute(args[0], m.dir)
		}
		if undo {
			return m.undo()
		}
		m.data.From, m.data.Notes, m.data.Variables = []string{}, []importNote{}, []importVariable{}
		return m.run(args[0])
	}
	return cmd
}

func (m *importing) run(word string) error {
	var err error
	if m.connected, err = m.deeds("connect"); err != nil {
		return err
	}
	if err := m.readAll(word); err != nil {
		return err
	}
	m.done = m.added()
	m.next = "durward server list" + m.configArgument()
	if m.foreign && m.file == projectServers {
		m.next = "durward trust add " + m.file + ", which shows what a hub would start by it"
	}
	if _, err := m.judge(); err != nil {
		return err
	}
	if m.data.changeData, err = m.write(); err != nil {
		return err
	}
	if m.json {
		return m.print(m.data)
	}
	return m.report()
}

// readAll takes over what is in the files that a word means.
func (m *importing) readAll(word string) error {
	files, options := []string{absolute(word, m.dir)}, clientconfig.Options{}
	if clientconfig.Known(word) {
		options.Client = clientconfig.Client(word)
		options.Project, _ = m.dir() // unknown is none
		files = options.Client.Places(clientconfig.Machine{OS: runtime.GOOS, Home: m.home(), Environ: m.env})
	}
	for _, file := range files {
		text, err := smallfile.Read(file, mostImported, nil)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return &durward.Error{Reason: durward.FileIO, Op: "import", Hint: "name a file that can be read", Err: fmt.Errorf("%s: %w", file, err)}
		}
		found, err := clientconfig.Read(file, text, options)
		if err != nil {
			return m.refused(err)
		}
		m.data.From = append(m.data.From, file)
		m.take(file, found)
	}
	if len(m.data.From) > 0 {
		return nil
	}
	hint := "name a client (durward import --help has them) or a file that is there"
	if options.Client != "" {
		hint = "name the file: durward import FILE"
	}
	return &durward.Error{Reason: durward.FileNotFound, Op: "import", Hint: hint, Err: fmt.Errorf("there is no %s", strings.Join(files, " and no "))}
}

// take adds the servers of one file.
func (m *importing) take(file string, found *clientconfig.Found) {
	for _, left := range found.Left {
		m.remark("", importLeft, left.Path, left.Why)
	}
	for i, s := range found.Servers {
		if i == mostTaken {
			m.remark("", importLeft, file, plural(len(found.Servers)-i, "server")+fmt.Sprintf(" behind the first %d, which is as many as are taken over at once", mostTaken))
			return
		}
		m.takeServer(file, s)
	}
}

func (m *importing) remark(server string, what importWord, where, why string) {
	m.data.Notes = append(m.data.Notes, importNote{server, what, where, why})
}

// takeServer adds one server, unless its name is taken or it would be a mistake in the file.
func (m *importing) takeServer(file string, s clientconfig.Server) {
	now, err := m.judge()
	if err != nil {
		m.remark(s.Name, importRefused, file, "the configuration has a mistake already")
		return
	}
	if why := m.itself(file, s); why != "" {
		m.remark(s.Name, importSelf, file, why)
		return
	}
	for _, known := range now.Servers {
		if known.Name == hubconfig.Fold(s.Name) {
			m.remark(s.Name, importTaken, known.Where.String(), "a server has this name, and stays as it is")
			return
		}
	}
	e, variables := m.secrets.entryOf(s)
	before := m.text.Bytes()
	err = hubedit.Add(m.text, e)
	if err == nil {
		_, err = m.judge()
	}
	if err != nil {
		m.text, _ = edit.Parse(m.file, before) // which was read before
		m.remark(s.Name, importRefused, file, strings.Join(details(err), "; "))
		return
	}
	m.remark(s.Name, importAdded, file, "")
	m.servers = append(m.servers, s.Name)
	m.data.Variables = append(m.data.Variables, variables...)
	for _, left := range s.Left {
		m.remark(s.Name, importLeft, left.Path, left.Why)
	}
}

// added says what is done, and notes what it does to the text.
func (m *importing) added() []string {
	if len(m.servers) == 0 {
		return nil
	}
	m.lines = changedLines(m.was, m.text.Bytes())
	return []string{"added " + plural(len(m.servers), "server")}
}

// report says what became of each server, what to set, and what was changed.
func (m *importing) report() error {
	rows := [][]string{{"SERVER", "WHAT", "WHERE", "WHY"}}
	for _, n := range m.data.Notes {
		rows = append(rows, []string{n.Server, string(n.What), n.Where, n.Why})
	}
	if err := m.table(rows); err != nil {
		return err
	}
	for _, v := range m.data.Variables {
		fmt.Fprintf(m.stdout, "set %s for the hub: it stands for %s\n", v.Name, safetext.Line(v.Of)) // its loss is told at the end
	}
	if m.data.Changed {
		return m.tellChange(m.data.changeData)
	}
	_, err := fmt.Fprintf(m.stdout, "nothing was added to %s\n", safetext.Line(m.file))
	return err
}

// secondsOf rounds up.
func secondsOf(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

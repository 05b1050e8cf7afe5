package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/audit"
	"github.com/durward/durward/internal/door/execserver"
	"github.com/durward/durward/internal/door/gateway"
	"github.com/durward/durward/internal/door/hub"
	"github.com/durward/durward/internal/door/mcp"
	"github.com/durward/durward/internal/door/site"
	"github.com/durward/durward/internal/errorpage"
	"github.com/durward/durward/internal/safetext"
)

func (p *program) auditCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "audit",
		Short: "read and prove the record of every call",
		Example: "  durward audit tail\n" +
			"  durward audit verify",
	}, p.tailCommand(), p.searchCommand(), p.showCommand(), p.verifyCommand(), p.exportCommand())
}

// A query is the flags that choose records.
type query struct {
	filter       audit.Filter
	since, until string
	phase, tool  string
	code, id     string
}

func (q *query) flags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&q.since, "since", "", "from this `TIME` on: RFC 3339, or an age like 1h")
	f.StringVar(&q.until, "until", "", "before this `TIME`")
	f.StringVar(&q.phase, "phase", "", "intent, outcome, deny or event")
	f.StringVar(&q.tool, "tool", "", "calls of this `TOOL`")
	f.StringVar(&q.filter.Door, "door", "", "calls through this `DOOR`: exec, site, gateway, hub, mcp, exec-server or doctor")
	f.StringVar(&q.filter.Caller, "caller", "", "calls by this `CALLER`")
	f.StringVar(&q.filter.Decision, "decision", "", "allow or deny")
	f.StringVar(&q.code, "code", "", "this `CODE`: a word or DWD-…")
	f.StringVar(&q.filter.Cause, "cause", "", "calls that ended with `OUTCOME`: ok, tool_error, timeout, cancelled or unknown; or events of a kind, such as network.refused")
	f.StringVar(&q.id, "id", "", "the call with this request `ID`")
	f.StringArrayVar(&q.filter.Files, "file", nil, "read this log `FILE`, too")
}

// choice gives the filter, or refuses a value that could match nothing.
func (q *query) choice(now time.Time) (f audit.Filter, err error) {
	f = q.filter
	f.Phase, f.Tool, f.ReqID = audit.Phase(q.phase), durward.ToolID(q.tool), durward.CallID(q.id)
	if err = q.refuseUnknown(); err != nil {
		return f, err
	}
	if f.Code, err = reasonNamed(q.code); err != nil {
		return f, err
	}
	if f.Since, err = moment("--since", q.since, now); err == nil {
		f.Until, err = moment("--until", q.until, now)
	}
	return f, err
}

// refuseUnknown refuses the values that no record has.
func (q *query) refuseUnknown() error {
	for _, row := range []struct {
		flag, value string
		known       []string
	}{
		{"--phase", q.phase, []string{"intent", "outcome", "deny", "event"}},
		{"--decision", q.filter.Decision, []string{"allow", "deny"}},
		{"--door", q.filter.Door, []string{"exec", "doctor", site.Name, gateway.Name, hub.Name, mcp.Name, execserver.Name}},
		{"--cause", q.filter.Cause, append(outcomes(), audit.EventKinds()...)},
	} {
		if row.value != "" && !slices.Contains(row.known, row.value) {
			return usageError("use "+strings.Join(row.known, ", "), "%s cannot be %q", row.flag, row.value)
		}
	}
	return nil
}

// outcomes are the words for how a call ended.
func outcomes() (words []string) {
	for _, o := range []durward.Outcome{
		durward.OutcomeOK, durward.OutcomeToolError, durward.OutcomeDenied, durward.OutcomeTimeout, durward.OutcomeCancelled, durward.OutcomeUnknown,
	} {
		words = append(words, string(o))
	}
	return words
}

// reasonNamed finds a reason by its code or its word.
func reasonNamed(text string) (durward.Reason, error) {
	reason, known := errorpage.Find(text)
	if text != "" && !known {
		return "", usageError(mainName+" help "+errorsTopic+" lists all codes and words", "--code cannot be %q", text)
	}
	return reason, nil
}

func moment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if age, err := time.ParseDuration(text); err == nil {
		return now.Add(-age), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, usageError("write 2026-01-31T12:00:00Z, or an age like 90m", "%s %q is no time", flag, text)
	}
	return at, nil
}

func (p *program) tailCommand() *cobra.Command {
	var o audit.TailOptions
	q := &query{}
	cmd := &cobra.Command{
		Use: "tail", Short: "print the newest records", Args: atMost(0),
		Example: "  durward audit tail\n" +
			"  durward audit tail -n 3 --json\n" +
			"  durward audit tail -f",
	}
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on with new records until interrupted")
	cmd.Flags().IntVarP(&o.Last, "lines", "n", 10, "print this `NUMBER` of records")
	q.flags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return p.tail(cmd.Context(), o, q) }
	return cmd
}

func (p *program) tail(ctx context.Context, o audit.TailOptions, q *query) error {
	var err error
	if o.Filter, err = q.choice(time.Now()); err != nil {
		return err
	}
	switch {
	case o.Last == 0 && o.Follow:
		o.Last = -1
	case o.Last < 1:
		return usageError("ask for one at least", "-n %d asks for no records", o.Last)
	}
	dir, exists, err := p.existingLog(o.Follow, o.Files)
	if err != nil || !exists {
		return err
	}
	return interruptible(ctx, func(ctx context.Context) error {
		working := p.working("reading the log")
		defer working.done()
		o.Caught = working.done
		return p.list(audit.Tail(ctx, dir, o), working)
	})
}

// existingLog gives the audit folder and whether there is anything to read. Nothing has
// been recorded in a folder before there is one; files that are named stand for themselves
// then, and the folder is empty.
func (p *program) existingLog(needed bool, files []string) (dir string, exists bool, err error) {
	if dir, err = p.auditDir(); err != nil {
		return "", false, err
	}
	_, err = os.Stat(dir)
	switch missing := errors.Is(err, os.ErrNotExist); {
	case missing && len(files) > 0:
		return "", true, nil
	case missing && !needed:
		p.note("nothing has been recorded in %s yet", safetext.Line(dir))
		return dir, false, nil
	}
	return dir, true, nil
}

func (p *program) searchCommand() *cobra.Command {
	q, most := &query{}, 0
	cmd := &cobra.Command{
		Use: "search [TEXT]", Short: "print the records that match", Args: atMost(1),
		Example: "  durward audit search --decision deny\n" +
			"  durward audit search --since 1h --json",
	}
	cmd.Flags().IntVarP(&most, "lines", "n", 1000, "print the newest `NUMBER` of them")
	q.flags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			q.filter.Text = args[0]
		}
		return p.search(cmd.Context(), q, most)
	}
	return cmd
}

func (p *program) search(ctx context.Context, q *query, most int) error {
	if most < 1 {
		return usageError("ask for one at least", "-n %d asks for no records", most)
	}
	filter, err := q.choice(time.Now())
	if err != nil {
		return err
	}
	dir, exists, err := p.existingLog(false, filter.Files)
	if err != nil {
		return err
	}
	return interruptible(ctx, func(ctx context.Context) error {
		records := func(func(audit.Entry, error) bool) {}
		if exists {
			records = audit.Newest(ctx, dir, filter, most)
		}
		if p.json {
			return p.printRecords(ctx, records)
		}
		working := p.working("reading the log")
		defer working.done()
		return p.list(records, working)
	})
}

func (p *program) showCommand() *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use: "show ID", Short: "print all records of one call", Args: exactly(1),
		Example: "  durward audit show \"$ID\"\n" +
			"  durward audit show --json \"$ID\"",
	}
	cmd.Flags().StringArrayVar(&files, "file", nil, "read this log `FILE`, too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.show(cmd.Context(), durward.CallID(args[0]), files)
	}
	return cmd
}

func (p *program) show(ctx context.Context, id durward.CallID, files []string) error {
	dir, exists, err := p.existingLog(false, files)
	if err != nil {
		return err
	}
	return interruptible(ctx, func(ctx context.Context) error {
		err := error(&durward.Error{Reason: durward.RecordNotFound})
		var entries []audit.Entry
		if exists {
			working := p.working("reading the log")
			entries, err = audit.Show(ctx, dir, id, files...)
			working.done()
		}
		return p.showFound(cmp.Or(dir, strings.Join(files, ", ")), id, entries, err)
	})
}

// showFound prints the records of a call, or why there are none.
func (p *program) showFound(dir string, id durward.CallID, entries []audit.Entry, err error) error {
	if durward.ReasonOf(err) == durward.AuditBroken {
		return p.showDamaged(entries, err)
	}
	if durward.ReasonOf(err) == durward.RecordNotFound {
		return &durward.Error{
			Reason: durward.RecordNotFound, Hint: "find the id with durward audit tail, or name the log with --file",
			Err: fmt.Errorf("no call %q is on record in %s", id, dir),
		}
	}
	if err != nil {
		return err
	}
	if p.json {
		return p.print(recordsData{Records: rawOf(entries)})
	}
	return p.printMembers(entries)
}

// showDamaged prints what could be found beside files that cannot be read.
func (p *program) showDamaged(entries []audit.Entry, err error) error {
	var e *durward.Error
	errors.As(err, &e)
	lines := strings.Split(e.Err.Error(), "\n")
	for _, line := range lines {
		fmt.Fprintln(p.stderr, safetext.Line(line))
	}
	broken := damaged(errNamed)
	if !p.json {
		return errors.Join(p.printMembers(entries), broken)
	}
	p.printFailure(failureOf(broken, ""), recordsData{Records: rawOf(entries), Damage: safeLines(lines)})
	return exitStatus(statusOf(broken))
}

func safeLines(lines []string) []string {
	safe := make([]string, len(lines))
	for i, line := range lines {
		safe[i] = safetext.Line(line)
	}
	return safe
}

var errNamed = errors.New("not everything could be read; what could not is named above")

// damaged says that what was printed is not all.
func damaged(err error) error {
	return &durward.Error{Reason: durward.AuditBroken, Hint: "see all of it with durward audit verify", Err: err}
}

// tellOf names what is no record, or no log, on standard error.
func (p *program) tellOf(bad *audit.Problem) {
	fmt.Fprintln(p.stderr, safetext.Line(bad.Error()))
}

func (p *program) exportCommand() *cobra.Command {
	q, format, raw := &query{}, "", false
	cmd := &cobra.Command{
		Use: "export", Short: "print records as JSON lines or CSV", Args: atMost(0),
		Example: "  durward audit export > records.jsonl\n" +
			"  durward audit export --format csv --decision deny",
	}
	cmd.Flags().StringVar(&format, "format", string(audit.JSONL), "write the records in this `FORMAT`: jsonl or csv")
	cmd.Flags().BoolVar(&raw, "raw", false, "give a file or a pipe each line byte for byte, also of a log that is not ours")
	q.flags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.export(cmd.Context(), q, audit.Format(format), raw)
	}
	return cmd
}

func (p *program) export(ctx context.Context, q *query, format audit.Format, raw bool) error {
	if p.json && format == audit.CSV {
		return usageError("leave out one of them", "--json is for objects and --format csv is for a table")
	}
	filter, err := q.choice(time.Now())
	if err != nil {
		return err
	}
	dir, exists, err := p.existingLog(false, filter.Files)
	if err != nil || !exists {
		return err
	}
	safe := &safetext.Writer{Safe: safetext.JSON}
	switch {
	case raw && !p.stdout.terminal:
		safe.Safe = nil
	case format == audit.CSV:
		safe.Safe = safetext.Output
	}
	return interruptible(ctx, func(ctx context.Context) error {
		working := p.working("exporting records")
		defer working.done()
		safe.To = working.before(p.stdout)
		err := errors.Join(audit.Export(ctx, safe, dir, format, filter, func(bad *audit.Problem) {
			working.aside(func() { p.tellOf(bad) })
		}), safe.Flush())
		if durward.ReasonOf(err) == durward.AuditBroken {
			return damaged(errNamed)
		}
		return err
	})
}

func (p *program) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "verify [FILE…]", Short: "prove that no record was changed, removed or cut off",
		Long: "Prints the head of every chain; keep them elsewhere to prove later that the end is the end. A FILE that a\n" +
			"policy names as logging.file is proved together with the files beside it of servers that found it in use.\n" +
			"Where nothing was recorded yet there is nothing to prove. Exits with 9 and names the first bad record where something does not fit.",
		Example: "  durward audit verify\n" +
			"  durward audit verify --json",
		RunE: func(cmd *cobra.Command, files []string) error { return p.verify(cmd.Context(), files) },
	}
}

func (p *program) verify(ctx context.Context, files []string) error {
	dir, err := p.auditDir()
	if err != nil {
		return err
	}
	folder := dir
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		folder = "" // the files stand for themselves
	}
	return interruptible(ctx, func(ctx context.Context) error {
		working := p.working("proving the log")
		summary, err := audit.Verify(ctx, folder, files...)
		working.done()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return p.verified(dir, summary, err)
	})
}

// verified prints the head of every chain and what is wrong.
func (p *program) verified(dir string, summary audit.Summary, err error) error {
	if p.json {
		return p.verifyJSON(summary, err)
	}
	if err == nil && len(summary.Chains) == 0 {
		_, err := fmt.Fprintf(p.stdout, "no records yet in %s\n", safetext.Line(dir))
		return err
	}
	for _, bad := range summary.Problems {
		p.tellOf(&bad)
	}
	if len(summary.Chains) > 0 {
		if tableErr := p.printChains(summary.Chains); tableErr != nil {
			return tableErr
		}
	}
	for _, c := range summary.Chains {
		if c.Headless && err == nil {
			p.note("no file heads beside %s holds its end: a tail that was cut off, or a changed last record, would not show", safetext.Line(c.File))
		}
	}
	return asEvidence(err)
}

// asEvidence adds what can be done about a log that does not prove itself.
func asEvidence(err error) error {
	if durward.ReasonOf(err) != durward.AuditBroken {
		return err
	}
	return withHint(err, "restore the log from a copy, or move the file away and keep it as evidence")
}

func (p *program) verifyJSON(summary audit.Summary, err error) error {
	data := chainsOf(summary)
	if err == nil {
		return p.print(data)
	}
	p.printFailure(failureOf(asEvidence(err), ""), data)
	return exitStatus(statusOf(err))
}

// withHint adds what can be done about an error that does not say so itself.
func withHint(err error, hint string) error {
	var e *durward.Error
	if errors.As(err, &e) && e.Hint == "" {
		copied := *e
		copied.Hint = hint
		return &copied
	}
	return err
}

// list prints records as they come; with the first one the work is done. Lines that are
// no records are named on standard error, and make the end a failure.
func (p *program) list(records iter.Seq2[audit.Entry, error], working *progress) error {
	table := newRecordTable(p)
	var damage error
	for e, err := range records {
		if problem := (*audit.Problem)(nil); errors.As(err, &problem) {
			working.aside(func() { p.tellOf(problem) })
			damage = damaged(errNamed)
			continue
		}
		if err == nil {
			working.done()
			err = table.print(e)
		}
		if err != nil {
			return err
		}
	}
	return damage
}

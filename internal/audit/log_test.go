package audit

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/durward/durward"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 123456789, time.FixedZone("", 3600))

// clock gives noon, moved by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// opened is a log that is closed when the test ends.
func opened(t testing.TB, dir string, o Options) *Log {
	t.Helper()
	if o.Now == nil {
		o.Now = (&clock{at: noon}).now
	}
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func call(id string) (durward.Call, durward.Decision) {
	return durward.Call{ID: durward.CallID(id), Door: "exec", Caller: durward.Caller{Name: "local:1000"}, Tool: "exec", Argv: []string{"ls", "-l"}},
		durward.Decision{Allow: true, Rule: "default", PolicyHash: "sha256:00"}
}

// record writes the two records of a call.
func record(t testing.TB, l *Log, id string) {
	t.Helper()
	c, d := call(id)
	if err := errors.Join(l.Intent(c, d), l.Outcome(c, d, durward.Result{}, nil)); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// linesOf reads the lines of a file, none of them empty.
func linesOf(t testing.TB, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func verified(t testing.TB, dir string, files ...string) Summary {
	t.Helper()
	s, err := Verify(t.Context(), dir, files...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func isRefusal(err error) bool {
	return durward.KindOf(err) == durward.Unavailable && durward.ReasonOf(err) == durward.AuditUnavailable
}

func TestRecordsToTheByte(t *testing.T) {
	code, id := 3, strings.Repeat("0", 64)
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	l := opened(t, dir, Options{})
	c := durward.Call{
		ID: "0190-1", ClientID: `7"`, Door: "mcp", Surface: "direct", Caller: durward.Caller{Name: "token:ci"}, Tool: "cmd.run", Server: "files",
		Argv: []string{"ls", "", "a\nb"}, Dir: "/w", Path: "/bin/ls", CommandID: "ls", Stdin: []byte("STDIN"),
		Env: map[string]string{"K": "ENVVALUE"}, Client: durward.Client{Name: "cli", Version: "1"},
	}
	c.Trace.TraceID = [16]byte{0x4b, 15: 0x36}
	d := durward.Decision{
		Allow: true, Rule: "commands.ls", Where: durward.Position{File: "policy.yaml", Line: 14, Column: 5},
		PolicyHash: "sha256:ab", Reason: "because",
		Grant: durward.Grant{Limits: durward.Limits{Wall: 5 * time.Second, CPU: durward.Unlimited}, Env: map[string]string{"K": "ENVVALUE"}},
	}
	denied := durward.Decision{Rule: "sandbox.env", Code: durward.EnvDenied, Reason: "no", PolicyHash: "sha256:ab"}
	result := durward.Result{
		Stdout: durward.Capture{Head: []byte("OUT"), Total: 3, SHA256: hashOf([]byte("OUT"))},
		Stderr: durward.Capture{Head: []byte("ERR"), Total: 3, SHA256: hashOf([]byte("ERR"))}, Exit: &code,
		Report: &durward.Report{Mode: durward.ReadOnly, Guarantees: map[durward.Guarantee]durward.Held{}, End: durward.ReportEnd{Cause: durward.CauseExit}},
		Queued: time.Millisecond, Took: 31*time.Millisecond + 900*time.Microsecond,
	}
	must(t, l.Deny(c, denied))
	must(t, l.Intent(c, d))
	must(t, l.Outcome(c, d, result, nil))
	must(t, l.Event("policy.reload", Record{PolicyHash: "sha256:cd"}))

	sum := func(s string) string {
		h := sha256.Sum256([]byte(s))
		return hex.EncodeToString(h[:])
	}
	who := `"reqId":"0190-1","clientId":"7\"","traceId":"4b000000000000000000000000000036","door":"mcp","surface":"direct","caller":"token:ci","tool":"cmd.run","server":"files"`
	what := `"path":"/bin/ls","cwd":"/w","commandId":"ls","args":["` + sum("") + `","` + sum("a\nb") + `"]`
	client := `,"client":{"name":"cli","version":"1"}}`
	limits := `"limits":{"wallMs":5000,"graceMs":2000,"cpuMs":-1,"memoryBytes":2147483648,"pids":256,"openFiles":1024,"fileSizeBytes":1073741824,` +
		`"tmpBytes":268435456,"stdinBytes":1048576,"outputBytes":1048576,"outputHardBytes":268435456}`
	report := `"sandbox":{"mode":"read-only","level":0,"identity":{"inner":0,"host":0},"guarantees":{},"setupUs":0,"end":{"cause":"exit","killedBy":null,"survivors":0}}`
	want := []string{
		`"phase":"deny",` + who + `,"decision":"deny","rule":"sandbox.env","code":"envNotAllowed",` + what + `,"policyHash":"sha256:ab"` + client,
		`"phase":"intent",` + who + `,"decision":"allow","rule":"commands.ls","where":"policy.yaml:14",` + what + `,"policyHash":"sha256:ab",` + limits + client,
		`"phase":"outcome",` + who + `,"decision":"allow","rule":"commands.ls","where":"policy.yaml:14",` + what +
			`,"bytes":6,"sha256":"` + sum("OUT") + `","exitCode":3,"timedOut":false,"truncated":false,"cause":"tool_error","durationMs":31,"queueMs":1,"policyHash":"sha256:ab",` + report + `,` + limits + client,
		`"phase":"event","cause":"policy.reload","policyHash":"sha256:cd"}`,
	}
	prev := id
	for i := range want {
		want[i] = fmt.Sprintf(`{"seq":%d,"prev":"%s","ts":"2026-01-31T11:00:00.123Z",`, i+1, prev) + want[i]
		prev = sum(want[i])
	}
	if diff := cmp.Diff(want, linesOf(t, l.File())); diff != "" {
		t.Error(diff)
	}
	if text := strings.Join(linesOf(t, l.File()), ""); strings.Contains(text, "STDIN") || strings.Contains(text, "ENVVALUE") {
		t.Error("standard input or the value of a variable is in the log")
	}
	for _, line := range linesOf(t, l.File()) {
		r, err := parseRecord([]byte(line))
		must(t, err)
		again, err := json.Marshal(r)
		must(t, err)
		if string(again) != line {
			t.Errorf("read and written again:\n%s\n%s", again, line)
		}
	}
	verified(t, dir)
}

// What is to be left out of records is in none, and the rest is.
func TestLeave(t *testing.T) {
	const secret = "hidden"
	c := durward.Call{ID: "1", Tool: "fs.read", Path: secret + "/path", Dir: secret + "/dir", Argv: []string{"ls", secret + " argument"}, CommandID: "ls"}
	for _, tt := range []struct {
		leave Leave
		gone  string
	}{
		{Leave{}, ""}, {Leave{Args: true}, "args"}, {Leave{Path: true}, "path"}, {Leave{Cwd: true}, "cwd"},
	} {
		dir := private(t)
		l := opened(t, dir, Options{Leave: tt.leave})
		must(t, l.Deny(c, durward.Decision{}))
		must(t, l.Intent(c, durward.Decision{Allow: true}))
		must(t, l.Explained(c, durward.Decision{Allow: true}))
		must(t, l.Outcome(c, durward.Decision{Allow: true}, durward.Result{}, nil))
		for _, line := range linesOf(t, l.File()) {
			for _, member := range []string{"args", "path", "cwd", "commandId"} {
				if there := strings.Contains(line, `"`+member+`":`); there != (member != tt.gone) {
					t.Errorf("%+v: %s is there: %t: %s", tt.leave, member, there, line)
				}
			}
		}
		verified(t, dir)
	}
}

func TestOutcomeOfEachEnd(t *testing.T) {
	printed := durward.Result{Stdout: durward.Capture{Head: []byte("ab"), Total: 10}, Signal: 9}
	for _, test := range []struct {
		name   string
		result durward.Result
		err    error
		want   string
	}{
		{"nothing known", durward.Result{}, nil, `"timedOut":false,"truncated":false,"cause":"ok"`},
		{"structured output", durward.Result{Output: []byte(`{}`)}, nil, `"bytes":2,"sha256":"` + hashOf([]byte("{}")) + `","timedOut":false,"truncated":false,"cause":"ok"`},
		{"kept", durward.Result{Output: []byte(`{}`), Cached: true}, nil, `"bytes":2,"sha256":"` + hashOf([]byte("{}")) + `","timedOut":false,"truncated":false,"cached":true,"cause":"ok"`},
		{"file content", durward.Result{Output: []byte(`{}`), Content: &durward.Content{Bytes: 0, SHA256: "e3"}}, nil, `"bytes":0,"sha256":"e3","timedOut":false,"truncated":false,"cause":"ok"`},
		{"a digest nobody knows", printed, nil, `"bytes":10,"signal":9,"timedOut":false,"truncated":true,"cause":"tool_error"`},
		{"timeout", printed, &durward.Error{Reason: durward.DeadlineExceeded}, `"code":"timeout","args":%ARGS%,"bytes":10,"signal":9,"timedOut":true,"truncated":true,"cause":"timeout"`},
		{"no reason", durward.Result{}, errors.New("secret"), `"code":"internal","args":%ARGS%,"timedOut":false,"truncated":false,"cause":"tool_error"`},
		{"cancelled", durward.Result{}, &durward.Error{Kind: durward.Cancelled}, `"code":"cancelled","args":%ARGS%,"timedOut":false,"truncated":false,"cause":"cancelled"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := opened(t, private(t), Options{})
			c, d := call("1")
			must(t, l.Outcome(c, d, test.result, test.err))
			line := linesOf(t, l.File())[0]
			args, err := json.Marshal([]string{hashOf([]byte("ls")), hashOf([]byte("-l"))})
			must(t, err)
			want := strings.ReplaceAll(test.want, "%ARGS%", string(args))
			if !strings.Contains(line, want) {
				t.Errorf("%s\ndoes not hold %s", line, want)
			}
			if strings.Contains(line, "secret") {
				t.Error("the text of an error is in the log")
			}
		})
	}
}

// private is an empty folder that only its owner can enter.
func private(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "audit")
	must(t, os.Mkdir(dir, 0o700))
	return dir
}

func TestNoTextMakesASecondLine(t *testing.T) {
	l := opened(t, private(t), Options{Args: ArgsPlain})
	nasty := "\x00\a\x1b]52;c;x\x07\n\r\t\"\\ \x7f \u0085 \u009b31m \u2028 \u2029 \u202e \u200b \U000e0041 \xff\xfe </script>"
	c, d := call(nasty)
	c.ClientID, c.Door, c.Caller.Name, c.Tool, c.Dir, c.Argv = nasty, nasty, nasty, durward.ToolID(nasty), nasty, []string{nasty}
	must(t, l.Intent(c, d))
	text, err := os.ReadFile(l.File())
	must(t, err)
	line := strings.TrimSuffix(string(text), "\n")
	if hasControl(line) {
		t.Errorf("control characters stand in the log: %q", line)
	}
	r, err := parseRecord([]byte(line))
	must(t, err)
	want := strings.ReplaceAll(nasty, "\xff\xfe", "\ufffd\ufffd")
	for _, got := range []string{string(r.ReqID), r.ClientID, r.Door, r.Caller, string(r.Tool), r.Cwd, r.Args[0]} {
		if got != want {
			t.Errorf("%q came back as %q", want, got)
		}
	}
	if !strings.Contains(line, "</script>") {
		t.Error("text was escaped that needs no escape")
	}
}

func TestRecordsAreBounded(t *testing.T) {
	for _, args := range []Args{ArgsHash, ArgsPlain} {
		l := opened(t, private(t), Options{Args: args})
		huge := strings.Repeat("\x01", 3<<20)
		c, d := call(huge)
		c.ClientID, c.Door, c.Caller.Name, c.Tool, c.Dir, c.Path, c.CommandID = huge, huge, huge, durward.ToolID(huge), huge, huge, huge
		c.Argv = append(slices.Repeat([]string{strings.Repeat("\x01", 100)}, 5000), huge)
		d.Rule, d.Where.File, d.PolicyHash = huge, huge, huge
		must(t, l.Intent(c, d))
		if line := linesOf(t, l.File())[0]; len(line) > maxLine {
			t.Errorf("a record of %d bytes", len(line))
		}
		verified(t, filepath.Dir(l.File()))
		if err := l.Event(huge, Record{Path: huge}); !isRefusal(err) {
			t.Errorf("an event that is too large: %v", err)
		}
		must(t, l.Intent(call("2")))
		verified(t, filepath.Dir(l.File()))
	}
}

func TestPlainArgumentsThatDoNotFitAreHashed(t *testing.T) {
	l := &Log{args: ArgsPlain}
	long := strings.Repeat("x", maxPlainArgs)
	got := l.arguments(durward.Call{Argv: []string{"a", long, "b"}})
	if diff := cmp.Diff([]string{"a", "sha256:" + hashOf([]byte(long)), "b"}, got); diff != "" {
		t.Error(diff)
	}
	many := l.arguments(durward.Call{Argv: slices.Repeat([]string{"a"}, maxArgs+2)})
	if want := "+2 sha256:" + hashOf([]byte("a\x00a\x00")); len(many) != maxArgs+1 || many[maxArgs] != want {
		t.Errorf("%d arguments, the last %q", len(many), many[len(many)-1])
	}
	if got := l.arguments(durward.Call{Input: []byte(`{"data":"body"}`)}); got[0] != hashOf([]byte(`{"data":"body"}`)) {
		t.Errorf("an input is recorded as %q", got)
	}
}

func TestManyWritersShareOneChain(t *testing.T) {
	dir := private(t)
	l := opened(t, dir, Options{Now: time.Now, MaxBytes: 200_000, Keep: -1})
	const writers, calls = 32, 100
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := range calls {
				c, d := call(fmt.Sprintf("%d-%d", w, n))
				if err := errors.Join(l.Intent(c, d), l.Outcome(c, d, durward.Result{}, nil)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var checking sync.WaitGroup
	stop := make(chan struct{})
	checking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				verified(t, dir)
			}
		}
	})
	group.Wait()
	close(stop)
	checking.Wait()
	must(t, l.Close())
	seen := map[durward.CallID]int{}
	for e, err := range Records(t.Context(), dir, Filter{Tool: "exec"}) {
		must(t, err)
		seen[e.ReqID]++
	}
	if len(seen) != writers*calls {
		t.Errorf("%d calls are on record, not %d", len(seen), writers*calls)
	}
	for id, n := range seen {
		if n != 2 {
			t.Errorf("call %s has %d records", id, n)
		}
	}
	if c := verified(t, dir).Chains[0]; c.InFlight != 0 || c.Live || c.Segments < 2 {
		t.Errorf("%+v", c)
	}
}

// A rotation may close the segment that is just being synced. The log goes on.
func TestAClosedSegmentNeedsNoSync(t *testing.T) {
	l := opened(t, private(t), Options{})
	l.mu.Lock()
	file := l.chain.file
	l.mu.Unlock()
	must(t, l.Close())
	if err := syncData(file); !errors.Is(err, os.ErrClosed) {
		t.Fatalf("the sync of a closed segment: %v", err)
	}
}

func TestIntentIsInTheFileWhenItReturns(t *testing.T) {
	l := opened(t, private(t), Options{})
	for i := range 10 {
		c, d := call(fmt.Sprint(i))
		must(t, l.Intent(c, d))
		if lines := linesOf(t, l.File()); len(lines) != i+1 || !strings.Contains(lines[i], `"reqId":"`+fmt.Sprint(i)+`"`) {
			t.Fatalf("after %d records the file holds %q", i+1, lines)
		}
	}
}

func TestAClosedLogRefuses(t *testing.T) {
	l := opened(t, private(t), Options{})
	must(t, l.Close())
	must(t, l.Close())
	if err := l.Intent(call("1")); !isRefusal(err) {
		t.Error(err)
	}
	if lines := linesOf(t, l.File()); lines != nil {
		t.Errorf("it wrote %q", lines)
	}
}

func TestTwoLogsAreTwoChains(t *testing.T) {
	dir := private(t)
	a, b := opened(t, dir, Options{}), opened(t, dir, Options{})
	if a.File() == b.File() {
		t.Fatal("both write " + a.File())
	}
	record(t, a, "a")
	record(t, b, "b")
	s := verified(t, dir)
	for _, c := range s.Chains {
		if !c.Live || c.Records != 2 {
			t.Errorf("%+v", c)
		}
	}
	if len(s.Chains) != 2 {
		t.Errorf("%d chains", len(s.Chains))
	}
}

func TestFilesAreNamedByTimeAndProcess(t *testing.T) {
	l := opened(t, private(t), Options{})
	if got, want := filepath.Base(l.File()), fmt.Sprintf("20260131T110000.123Z-%d.jsonl", os.Getpid()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestLineReaderIsBounded(t *testing.T) {
	text := "a\n" + strings.Repeat("\x00", 3*maxLine) + "\n\nlast"
	l := newLineReader(bufio.NewReader(strings.NewReader(text)))
	var got []string
	for {
		err := l.next()
		if errors.Is(err, errLineTooLong) {
			got = append(got, "too long")
			continue
		}
		if err != nil {
			break
		}
		got = append(got, fmt.Sprintf("%s %v", l.text, l.whole))
	}
	if diff := cmp.Diff([]string{"a true", "too long", " true", "last false"}, got); diff != "" {
		t.Error(diff)
	}
	if cap(l.text) > 2*maxLine {
		t.Errorf("%d bytes are held", cap(l.text))
	}
}

func TestMain(m *testing.M) {
	if done := runAsChild(); done {
		return
	}
	goleak.VerifyTestMain(m)
}

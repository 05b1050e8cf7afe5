package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
)

func denial(id, door, tool string) (durward.Call, durward.Decision) {
	return durward.Call{ID: durward.CallID(id), Door: door, Tool: durward.ToolID(tool), Caller: durward.Caller{Name: "token:ci"}, Path: "/über/\u202e\"x\""},
		durward.Decision{Code: durward.SymlinkTarget}
}

// mixed is a folder with the interleaved logs of two processes, one of them in several
// segments and one outside the folder.
func mixed(t *testing.T) string {
	dir := private(t)
	now := &clock{at: noon.Truncate(time.Second)}
	a := opened(t, dir, Options{Now: now.now, MaxBytes: 2000, Keep: -1})
	b := opened(t, dir, Options{Now: now.now, File: filepath.Join(private(t), "b.log")})
	for i := range 10 {
		record(t, a, fmt.Sprintf("a%d", i))
		now.move(time.Second)
		must(t, b.Deny(denial(fmt.Sprintf("b%d", i), "mcp", "fs.read")))
		now.move(time.Second)
	}
	must(t, errors.Join(a.Close(), b.Close()))
	return dir
}

func ids(t *testing.T, dir string, f Filter) string {
	t.Helper()
	var all []string
	for e, err := range Records(t.Context(), dir, f) {
		must(t, err)
		if e.Phase != Event {
			all = append(all, string(e.ReqID))
		}
	}
	return strings.Join(all, " ")
}

func TestRecordsComeInTheOrderOfTime(t *testing.T) {
	dir := mixed(t)
	want := ""
	for i := range 10 {
		want += fmt.Sprintf(" a%d a%d b%d", i, i, i)
	}
	if got := ids(t, dir, Filter{}); got != want[1:] {
		t.Errorf("%s\nwant%s", got, want)
	}
}

func TestFilters(t *testing.T) {
	dir := mixed(t)
	start := noon.Truncate(time.Second)
	bs := "b0 b1 b2 b3 b4 b5 b6 b7 b8 b9"
	for name, test := range map[string]struct {
		filter Filter
		want   string
	}{
		"since":    {Filter{Since: start.Add(17 * time.Second)}, "b8 a9 a9 b9"},
		"until":    {Filter{Until: start.Add(2 * time.Second)}, "a0 a0 b0"},
		"tool":     {Filter{Tool: "fs.read"}, bs},
		"door":     {Filter{Door: "mcp"}, bs},
		"caller":   {Filter{Caller: "token:ci"}, bs},
		"decision": {Filter{Decision: "deny"}, bs},
		"code":     {Filter{Code: durward.SymlinkTarget}, bs},
		"phase":    {Filter{Phase: Deny}, bs},
		"request":  {Filter{ReqID: "a3"}, "a3 a3"},
		"cause":    {Filter{Cause: "ok", Until: start.Add(time.Second)}, "a0"},
		"text":     {Filter{Text: "/über/\u202e\"x"}, bs},
		"both":     {Filter{Text: "über", ReqID: "b1"}, "b1"},
		"none":     {Filter{Text: "nowhere"}, ""},
		"not tool": {Filter{Tool: "fs.rea"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ids(t, dir, test.filter); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestAReaderMayStop(t *testing.T) {
	dir := mixed(t)
	for range Records(t.Context(), dir, Filter{}) {
		break
	}
	for range Tail(t.Context(), dir, TailOptions{Last: 5}) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range Records(ctx, dir, Filter{}) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func TestDamagedLinesAreReportedAndPassedOver(t *testing.T) {
	dir := private(t)
	text := strings.Join([]string{
		`{"seq":1,"prev":"` + digest{}.String() + `","ts":"2026-01-31T12:00:00.000Z","phase":"event"}`,
		"garbage",
		`{"seq":2,"prev":"` + digest{}.String() + `","ts":"2026-01-31T12:00:00.000Z","phase":"event"}`,
		`{"seq":3,`,
	}, "\n")
	touch(t, filepath.Join(dir, "x.jsonl"), text)
	var got []string
	for e, err := range Records(t.Context(), dir, Filter{}) {
		if problem := (*Problem)(nil); errors.As(err, &problem) {
			got = append(got, fmt.Sprint("line ", problem.Line))
			continue
		}
		got = append(got, fmt.Sprint(e.Seq, " at ", e.Line))
	}
	if diff := cmp.Diff([]string{"1 at 1", "line 2", "2 at 3"}, got); diff != "" {
		t.Error(diff)
	}
	var out strings.Builder
	if err := Export(t.Context(), &out, dir, JSONL, Filter{}, func(*Problem) {}); durward.ReasonOf(err) != durward.AuditBroken {
		t.Error(err)
	}
	if strings.Count(out.String(), "\n") != 2 {
		t.Errorf("%q", out.String())
	}
}

func TestShow(t *testing.T) {
	dir := mixed(t)
	shown, err := Show(t.Context(), dir, "a4")
	must(t, err)
	if len(shown) != 2 || shown[0].Phase != Intent || shown[1].Phase != Outcome || !strings.Contains(string(shown[0].Raw), `"phase":"intent"`) {
		t.Errorf("%+v", shown)
	}
	if _, err := Show(t.Context(), dir, "nobody"); durward.ReasonOf(err) != durward.RecordNotFound {
		t.Error(err)
	}
}

func TestTailGivesTheLast(t *testing.T) {
	dir := mixed(t)
	for _, test := range []struct {
		last int
		want string
	}{{2, "a9 b9"}, {-1, ""}, {1, "b9"}} {
		var got []string
		for e, err := range Tail(t.Context(), dir, TailOptions{Last: test.last}) {
			must(t, err)
			got = append(got, string(e.ReqID))
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("the last %d are %q, want %q", test.last, text, test.want)
		}
	}
	n := 0
	for range Tail(t.Context(), dir, TailOptions{}) {
		n++
	}
	if n != 10 {
		t.Errorf("%d without a number", n)
	}
}

func TestTailFollowsRotationAndNewLogs(t *testing.T) {
	dir := private(t)
	a := opened(t, dir, Options{MaxBytes: 3000, Keep: -1})
	record(t, a, "old")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var b *Log
	var got []string
	wrote := 0
	for e, err := range Tail(ctx, dir, TailOptions{Follow: true, Every: time.Millisecond, Filter: Filter{Phase: Outcome}}) {
		must(t, err)
		got = append(got, string(e.ReqID))
		switch {
		case wrote < 40:
			record(t, a, fmt.Sprint("a", wrote))
			wrote++
		case b == nil:
			b = opened(t, dir, Options{})
			record(t, b, "b")
		default:
			cancel()
		}
	}
	want := []string{"old"}
	for i := range 40 {
		want = append(want, fmt.Sprint("a", i))
	}
	if diff := cmp.Diff(append(want, "b"), got); diff != "" {
		t.Error(diff)
	}
	if s := verified(t, dir); s.Chains[0].Segments+s.Chains[1].Segments < 5 {
		t.Error("it did not rotate")
	}
}

func TestTailWaitsForTheEndOfALine(t *testing.T) {
	w := write(t, 1, Options{})
	text, err := os.ReadFile(w.files[0])
	must(t, err)
	half := len(text) - 20
	must(t, os.WriteFile(w.files[0], text[:half], 0o600))
	var phases []Phase
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for e, err := range Tail(ctx, w.dir, TailOptions{Follow: true, Every: time.Millisecond}) {
		must(t, err)
		if phases = append(phases, e.Phase); len(phases) == 2 {
			cancel()
			continue
		}
		f, err := os.OpenFile(w.files[0], os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = f.Write(text[half:])
		must(t, errors.Join(err, f.Close()))
	}
	if diff := cmp.Diff([]Phase{Intent, Outcome}, phases); diff != "" {
		t.Error(diff)
	}
}

func TestExportJSONLIsByteForByte(t *testing.T) {
	w := write(t, 5, Options{})
	var out strings.Builder
	must(t, Export(t.Context(), &out, w.dir, JSONL, Filter{}, func(*Problem) {}))
	text, err := os.ReadFile(w.files[0])
	must(t, err)
	if out.String() != string(text) {
		t.Errorf("%q\n%q", out.String(), text)
	}
}

func TestExportCSV(t *testing.T) {
	l := opened(t, private(t), Options{})
	c, d := denial("=cmd()", "a,\"b\"", "@x")
	c.Dir = "\x1b[31m\n"
	c.Argv = []string{"x"}
	must(t, l.Deny(c, d))
	var out strings.Builder
	must(t, Export(t.Context(), &out, filepath.Dir(l.File()), CSV, Filter{}, func(*Problem) {}))
	want := strings.Join(columns[:], ",") + "\n" +
		`1,` + digest{}.String() + `,2026-01-31T11:00:00.123Z,deny,'=cmd(),,,"a,""b""",,token:ci,'@x,,deny,,,symlinkTarget,"/über/\u202e""x""",\u001b[31m\u000a,,` +
		`"[""` + hashOf([]byte("x")) + `""]",,,,,,,,,,,,,,,,,,,` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if err := Export(t.Context(), &out, filepath.Dir(l.File()), "xml", Filter{}, func(*Problem) {}); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
}

func TestColumnsAreTheMembersOfARecord(t *testing.T) {
	var members []string
	for i := range reflect.TypeFor[Record]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[Record]().Field(i).Tag.Get("json"), ",")
		members = append(members, name)
	}
	if diff := cmp.Diff(columns[:], members); diff != "" {
		t.Error(diff)
	}
}

func TestAFolderThatIsNotThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "no")
	if _, err := Verify(t.Context(), dir); !isNotFound(err) {
		t.Error(err)
	}
	for _, err := range Records(t.Context(), dir, Filter{}) {
		if !isNotFound(err) {
			t.Error(err)
		}
	}
	for _, err := range Tail(t.Context(), dir, TailOptions{}) {
		if !isNotFound(err) {
			t.Error(err)
		}
	}
	if _, err := Show(t.Context(), dir, "1"); !isNotFound(err) {
		t.Error(err)
	}
	if _, err := Verify(t.Context(), "", filepath.Join(dir, "x")); !isNotFound(err) {
		t.Error(err)
	}
}

func isNotFound(err error) bool {
	return durward.KindOf(err) == durward.NotFound && durward.ReasonOf(err) == durward.AuditNotFound
}

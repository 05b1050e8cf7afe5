package mcp

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/durward/durward"
)

func TestProgress(t *testing.T) {
	for _, token := range []string{`7`, `"7"`, `12345678901234567890`} {
		connectHeld(t, func(p *peer, h *held) {
			told := func(bytes int) string {
				return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":"%d bytes captured"}}`+"\n", token, bytes, bytes)
			}
			p.say(initialize)
			p.hears()
			p.say(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"cmd_run","arguments":{"commandId":"rg"},"_meta":{"progressToken":` + token + `}}}`)
			call := <-h.began
			call.Captured(10)
			p.expect(told(10))
			call.Captured(20)
			call.Captured(30)
			call.Captured(25)
			p.expect("")
			time.Sleep(progressEvery)
			p.expect(told(30))
			call.Captured(30)
			time.Sleep(progressEvery)
			p.expect("")
			call.Captured(31)
			p.expect(told(31))
			call.Captured(40)
			h.let <- durward.Result{Exit: exit(0)}
			if got := p.hears(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"slow","result":`) || strings.Count(got, "\n") != 1 {
				t.Errorf("at the end: %s", got)
			}
			call.Captured(50)
			time.Sleep(progressEvery)
			p.expect("")
		})
	}
}

// However fast a command prints, a second sees five reports.
func TestProgressIsNoFlood(t *testing.T) {
	runtime := double(func(_ context.Context, c durward.Call) (durward.Result, error) {
		for i := range int64(10_000) {
			c.Captured(i + 1)
			time.Sleep(time.Millisecond)
		}
		return durward.Result{Exit: exit(0)}, nil
	})
	connect(t, options(runtime), func(p *peer) {
		p.say(strings.Replace(modernCall("tools/call", `"name":"cmd_run","arguments":{"commandId":"rg"},`), `"_meta":{`, `"_meta":{"progressToken":1,`, 1))
		time.Sleep(11 * time.Second)
		if got := strings.Count(p.hears(), "notifications/progress"); got < 40 || got > 51 {
			t.Errorf("%d reports in ten seconds", got)
		}
	})
}

// Only commands have progress.
func TestFilesHaveNoProgress(t *testing.T) {
	runtime := double(func(ctx context.Context, c durward.Call) (durward.Result, error) {
		if c.Captured != nil {
			t.Error("progress is asked for")
		}
		return echo(ctx, c)
	})
	converse(t, options(runtime), strings.Replace(modernCall("tools/call", `"name":"fs_read",`), `"_meta":{`, `"_meta":{"progressToken":1,`, 1))
}

func TestListsThatChange(t *testing.T) {
	const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}` + "\n"
	tagged := func(method, id, rest string) string {
		return `{"jsonrpc":"2.0","method":"notifications/` + method + `","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}` + rest + "}}\n"
	}
	listen := func(id, wishes string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":` + wishes + `,` + modernMeta + `}}`
	}
	talk(t, func(p *peer, change func(s Surface)) {
		other := surface()
		change(other)
		p.expect("")
		other.PolicyHash = "sha256:01"
		change(other)
		p.expect("")
		p.say(listen(`"a"`, `{"toolsListChanged":true,"promptsListChanged":true}`))
		p.expect(tagged("subscriptions/acknowledged", `"a"`, `,"notifications":{"toolsListChanged":true}`))
		p.say(listen(`2`, `{"resourcesListChanged":true}`))
		p.expect(tagged("subscriptions/acknowledged", `2`, `,"notifications":{}`))
		other.Commands = nil
		change(other)
		p.expect(tagged("tools/list_changed", `"a"`, ""))
		p.say(initialize)
		p.hears()
		change(surface())
		p.expect(changed + tagged("tools/list_changed", `"a"`, ""))
		p.say(listen(`"a"`, `{}`))
		p.expect(refusal(`"a"`, "-32600", "the id is in use"))
		p.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`)
		change(other)
		p.expect(changed)
		p.say(`{"jsonrpc":"2.0","id":"a","method":"ping"}`)
		p.expect(result(`"a"`, "{}"))
		_ = p.in.Close()
		p.expect(result("2", `{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":2}}`))
	})
}

// talk runs a session whose surface changes as told.
func talk(t *testing.T, f func(p *peer, change func(s Surface))) {
	t.Helper()
	now := surface()
	var changes chan struct{}
	o := options(nothing(t))
	o.Surface = func() Surface { return now }
	connectWith(t, o, func(o *Options) {
		changes = make(chan struct{})
		o.Changed = changes
	}, func(p *peer) {
		f(p, func(s Surface) {
			synctest.Wait() // nobody asks now
			now = s
			changes <- struct{}{}
		})
	})
}

func TestSubscriptionsAreBounded(t *testing.T) {
	connect(t, options(nothing(t)), func(p *peer) {
		for i := range maxSubscriptions + 1 {
			p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{},%s}}`, i, modernMeta))
		}
		if got := p.hears(); !strings.HasSuffix(got, refusal("64", "-32600", "too many subscriptions are open")) || strings.Count(got, "acknowledged") != maxSubscriptions {
			t.Errorf("got %s", got)
		}
	})
}

// An owner may stop telling of changes.
func TestChangesMayEnd(t *testing.T) {
	changes := make(chan struct{})
	close(changes)
	o := options(nothing(t))
	o.Changed = changes
	if got := converse(t, o, ping); got != result("1", "{}") {
		t.Errorf("got %s", got)
	}
}

func TestMessages(t *testing.T) {
	const level = `{"jsonrpc":"2.0","id":9,"method":"logging/setLevel","params":{"level":"%s"}}` + "\n"
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cmd_run","arguments":{"commandId":"rg"}}}`
	message := func(level, rest string) string {
		return `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + level + `","logger":"durward","data":{"tool":"cmd.run","commandId":"rg",` + rest + "}}}\n"
	}
	cut := gives(durward.Result{Exit: exit(0), Stdout: printed("SECRET", 1)}, nil)
	denied := gives(durward.Result{}, &durward.Error{Reason: durward.EnvDenied})
	invalid := gives(durward.Result{}, &durward.Error{Reason: durward.FileNotFound})
	defect := gives(durward.Result{}, &durward.Error{Reason: durward.Defect})
	tests := []struct {
		name    string
		runtime double
		level   string
		want    string
	}{
		{"cut output", cut, "warning", message("warning", `"code":"OUTPUT_TRUNCATED","rule":"maxOutputBytes"`)},
		{"cut output for debug", cut, "debug", message("warning", `"code":"OUTPUT_TRUNCATED","rule":"maxOutputBytes"`)},
		{"cut output above", cut, "error", ""},
		{"cut output unasked", cut, "", ""},
		{"a denial", denied, "notice", message("warning", `"code":"POLICY_DENY","rule":"envNotAllowed"`)},
		{"a missing file", invalid, "info", message("info", `"code":"IO_ERROR","rule":"notFound"`)},
		{"a missing file above", invalid, "notice", ""},
		{"a defect", defect, "error", message("error", `"code":"INTERNAL","rule":"panic"`)},
		{"a defect above", defect, "critical", ""},
		{"nothing", echo, "debug", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := ""
			if tt.level != "" {
				set = fmt.Sprintf(level, tt.level)
			}
			got := behindHello(t, converse(t, options(tt.runtime), initialize+set+call))
			got = strings.TrimPrefix(got, result("9", "{}"))
			if !strings.HasPrefix(got, tt.want+`{"jsonrpc":"2.0","id":1,`) {
				t.Errorf("legacy: got  %swant %s", got, tt.want)
			}
			line := modernCall("tools/call", `"name":"cmd_run","arguments":{"commandId":"rg"},`)
			if tt.level != "" {
				line = strings.Replace(line, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"`+tt.level+`",`, 1)
			}
			got = behindHello(t, converse(t, options(tt.runtime), initialize+line))
			if !strings.HasPrefix(got, tt.want+`{"jsonrpc":"2.0","id":1,`) {
				t.Errorf("modern: got  %swant %s", got, tt.want)
			}
		})
	}
}

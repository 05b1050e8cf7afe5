package domain

import (
	"testing"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(sampleManifest), []byte(samplePolicies))
	f.Add([]byte(tool("timeout_sec: 0", "x-a: &a [*a]", "upstreams: ['[::1]:1']", "retry: {max_attempts: 3}")), []byte("concurrency: {per_tool_max_inflight: {a.b: 1}}"))
	f.Add([]byte(transport("type: http, base_url: 'http://[fe80::1]', auth: {type: bearer, env: A}")), []byte(""))
	f.Fuzz(func(t *testing.T, manifest, policies []byte) {
		m, found := ParseManifest("m", manifest)
		p, more := ParsePolicies("p", policies)
		d, last := Join(m, p, "")
		for _, problems := range []config.Problems{found, more, last} {
			for _, one := range problems {
				if one.Where.File == "" || one.Where.Column != 0 || one.Message == "" {
					t.Errorf("%+v", one)
				}
			}
		}
		if len(found)+len(more)+len(last) > 0 || d == nil {
			return
		}
		for _, tool := range d.Tools {
			holds(t, d, tool)
		}
	})
}

// holds looks at a tool that was accepted.
func holds(t *testing.T, d *Domain, tool *Tool) {
	t.Helper()
	if tool.Timeout <= 0 || tool.Timeout > maxSeconds*1e9 || tool.Transport.MaxAttempts < 1 || tool.MaxInflight < 0 || tool.Where.Line < 1 {
		t.Errorf("%+v", tool)
	}
	again, err := baseURL(tool.Transport.BaseURL)
	if err != nil || again != tool.Transport.BaseURL {
		t.Errorf("%q is no base URL any more: %q, %v", tool.Transport.BaseURL, again, err)
	}
	if _, err := checkToolID(string(tool.ID)); err != nil {
		t.Errorf("%q: %v", tool.ID, err)
	}
	got := NewPolicy(d).Decide(durward.Call{}, durward.Tool{ID: tool.ID, Spec: tool})
	if !got.Allow && got.Code != durward.EgressDenied {
		t.Errorf("%+v", got)
	}
}

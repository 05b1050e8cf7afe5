package hubconfig_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/durward/durward/internal/hubconfig"
)

func TestPatternsMeanWhatTheySay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a*?.ü/]{0,8}`)
		pattern, name := text.Draw(t, "pattern"), text.Draw(t, "name")
		re := regexp.MustCompile(`^(?s:` + strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern)) + `)$`)
		if got := hubconfig.Matches([]string{"none", pattern}, name); got != re.MatchString(name) {
			t.Errorf("%q and %q: %v", pattern, name, got)
		}
	})
}

func TestAllowedTools(t *testing.T) {
	for name, test := range map[string]struct {
		server hubconfig.Server
		want   string
	}{
		"nothing said": {hubconfig.Server{}, "read read_all write"},
		"allowed":      {hubconfig.Server{AllowTools: []string{"read*"}}, "read read_all"},
		"none allowed": {hubconfig.Server{AllowTools: []string{}}, ""},
		"denied":       {hubconfig.Server{DenyTools: []string{"*_all", "write"}}, "read"},
		"both":         {hubconfig.Server{AllowTools: []string{"*"}, DenyTools: []string{"read"}}, "read_all write"},
	} {
		var got []string
		for _, tool := range []string{"read", "read_all", "write"} {
			if test.server.Allows(tool) {
				got = append(got, tool)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

package credential

import "testing"

func TestLooks(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        bool
	}{
		{"GITHUB_TOKEN", "abcdef123", true},
		{"API_KEY", "0123456789", true},
		{"Authorization", "Basic dXNlcjpwYXNz", true},
		{"X-Api-Key", "0123456789", true},
		{"accessToken", "0123456789", true},
		{"DB_PASSWORD", "hunter2", true},
		{"ANYTHING", "ghp_0123456789abcdefghij", true},
		{"ANYTHING", "sk-proj-0123456789abcdefghij", true},
		{"ANYTHING", "xoxb-1234567890-abc", true},
		{"DATABASE_URL", "postgres://me:secret@localhost/x", true},
		{"X", "-----BEGIN RSA PRIVATE KEY-----", true},
		{"GITHUB_TOKEN", "${GITHUB_TOKEN}", false},
		{"Authorization", "Bearer ${GITHUB_TOKEN}", false},
		{"TOKEN_FILE", "/run/secrets/token", false},
		{"KEYBOARD", "querty-uk", false},
		{"MONKEY", "banana-tree", false},
		{"LOG_LEVEL", "debugging", false},
		{"DATABASE_URL", "postgres://localhost/x", false},
		{"TOKEN", "", false},
		{"PATH", "/usr/bin:/bin", false},
	} {
		if got := Looks(test.name, test.value); got != test.want {
			t.Errorf("%s=%s is taken for a secret: %v", test.name, test.value, got)
		}
	}
}

func TestRedact(t *testing.T) {
	env := map[string]string{"DB_PASSWORD": "hunter22", "HOME": "/root"}
	for _, test := range []struct {
		env        map[string]string
		text, want string
	}{
		{map[string]string{"A_KEY": "hunter22", "B_KEY": "hunter22-and-more", "C_KEY": "hunter"}, "hunter22-and-more hunter22 hunter", "[redacted] [redacted] [redacted]"},
		{map[string]string{"Authorization": "Bearer hunter22"}, "no hunter22 or Bearer hunter22", "no [redacted] or [redacted]"},
		{map[string]string{"url": "https://h/?a=plain-text&api_key=hunter%2022"}, "hunter 22, hunter%2022, plain-text", "[redacted], [redacted], plain-text"},
		{map[string]string{"url": "https://me:hunter22@h/"}, "no hunter22", "no [redacted]"},
		{map[string]string{"A_KEY": "first line\n  second line\n"}, "no second line", "no [redacted]"},
		{map[string]string{"A_KEY": " hunter22 "}, "no hunter22", "no [redacted]"},
	} {
		if got := Redact(test.text, test.env); got != test.want {
			t.Errorf("%v: %q", test.env, got)
		}
	}
	got := Redact("no hunter22 in /root, nor ghp_0123456789abcdefghij", env)
	if want := "no [redacted] in /root, nor [redacted]"; got != want {
		t.Errorf("%q", got)
	}
}

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
		{"BROKER", "redis://:secret@localhost/0", true},
		{"X", "-----BEGIN RSA PRIVATE KEY-----", true},
		{"DB_PASS", "hunter2", true},
		{"dbPass", "hunter2", true},
		{"DBPass", "hunter2", true},
		{"API_KEYS", "0123456789,abc", true},
		{"TOKENS", "abcdef123", true},
		{"CLIENT_SECRETS", "abcdef123", true},
		{"passwords", "abcdef123", true},
		{"AWS_SECRETKEY", "abcdef123", true},
		{"MINIO_ACCESSKEY", "abcdef123", true},
		{"PRIVATEKEY", "abcdef123", true},
		{"AZURE_ACCOUNTKEY", "abcdef123", true},
		{"SESSION_JWT", "abcdef123", true},
		{"DB_CONN", "Server=h;Pwd=x", true},
		{"AZURE_CONNECTION_STRING", "Server=h;Pwd=x", true},
		{"connectionString", "Server=h;Pwd=x", true},
		{"DB_CONN_STR", "Server=h;Pwd=x", true},
		{"apiKey", "0123456789", true},
		{"MY_PW", "hunter2", true},
		{"OTP", "123456", true},
		{"PASSENGER", "somebody", false},
		{"PASSENGERS", "somebody", false},
		{"COMPASS", "north-west", false},
		{"PASS_THROUGH", "requests", false},
		{"MAX_TOKENS", "100000", false},
		{"TOKENS_PER_MINUTE", "unlimited", false},
		{"MONKEYS", "banana-tree", false},
		{"CONNECTION_TIMEOUT", "30 seconds", false},
		{"MAX_CONNECTIONS", "unlimited", false},
		{"CONN_MODE", "persistent", false},
		{"XPATH", "//a/b/c", false},
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
		{map[string]string{"db": "Server=h;Password=hunter22;"}, "no hunter22 at h", "no [redacted] at h"},
		{map[string]string{"url": "redis://:hunter22@h/"}, "no hunter22", "no [redacted]"},
		{map[string]string{"url": "db://me:hunter%2F22@h:1/x@y"}, "hunter%2F22 or hunter/22", "[redacted] or [redacted]"},
		{map[string]string{"url": "db://postgres:postgres@h/"}, "postgres is up", "postgres is up"},
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

// What is looked for first is in everything that has a form.
func FuzzForms(f *testing.F) {
	for _, text := range []string{
		"sk-proj-0123456789abcdefghij", "rk_live_0123456789abcdefghij", "ghs_0123456789abcdefghij", "github_pat_0123456789abcdefghij", "glpat-0123456789abcdefghij",
		"xoxb-1234567890-abc", "AKIA0123456789ABCDEF", "AIza0123456789abcdefghijklmnopqrst", "hf_0123456789abcdefghij", "npm_0123456789abcdefghij",
		"fc-0123456789abcdef01234567", "ntn_0123456789abcdefghijkl", "eyJ0123456789.0123456789.", "-----BEGIN RSA PRIVATE KEY", "bEaReR 0123456789", "a://b:c12@d",
	} {
		if !forms().MatchString(text) {
			f.Fatalf("%s has no form", text)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !mayBeFormed(text) && forms().MatchString(text) {
			t.Errorf("%q", text)
		}
	})
}

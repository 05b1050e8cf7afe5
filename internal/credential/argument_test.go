package credential

import "testing"

func TestInArgument(t *testing.T) {
	for _, test := range []struct{ before, arg, prefix, secret string }{
		{"", "--api-key=abcdef123456", "--api-key=", "abcdef123456"},
		{"npx", "API_KEY=abcdef123456", "API_KEY=", "abcdef123456"},
		{"-e", "API_KEY=abc=def123456", "API_KEY=", "abc=def123456"},
		{"--token", "supersecretvalue123", "", "supersecretvalue123"},
		{"--header", "Authorization: Basic dXNlcjpwYXNz", "Authorization: ", "Basic dXNlcjpwYXNz"},
		{"--header", "X-Api-Key:abcdef123456", "X-Api-Key:", "abcdef123456"},
		{"", "https://h/x?a=b&api_key=SECRETSECRET1", "", "https://h/x?a=b&api_key=SECRETSECRET1"},
		{"", "--url=https://h/x?api_key=SECRETSECRET1", "--url=", "https://h/x?api_key=SECRETSECRET1"},
		{"", "postgres://me:secret@localhost/x", "", "postgres://me:secret@localhost/x"},
		{"", "redis://:secret@localhost", "", "redis://:secret@localhost"},
		{"", "Server=h;Password=hunter2;", "", "Server=h;Password=hunter2;"},
		{"--dsn", "Server=h; User Id=me; Pwd = hunter2", "", "Server=h; User Id=me; Pwd = hunter2"},
		{"--pass", "hunter2", "", "hunter2"},
		{"", "--pass=hunter2", "--pass=", "hunter2"},
		{"", "ghp_0123456789abcdefghij", "", "ghp_0123456789abcdefghij"},
		{"", "--x=ghp_0123456789abcdefghij", "--x=", "ghp_0123456789abcdefghij"},
	} {
		prefix, secret, ok := InArgument(test.before, test.arg)
		if !ok || prefix != test.prefix || secret != test.secret {
			t.Errorf("%s %s: %q %q %t", test.before, test.arg, prefix, secret, ok)
		}
	}
	for _, pair := range [][2]string{
		{"", "--api-key=${API_KEY}"},
		{"--token", "${TOKEN}"},
		{"--token", "--verbose"},
		{"token", "supersecretvalue123"},
		{"", "--token-file=/run/secrets/token"},
		{"", "--max-tokens=100000"},
		{"", "--url=https://h/x?q=keyboards"},
		{"", "https://h/x?api_key=${API_KEY}"},
		{"", "-y"},
		{"", "@scope/server-auth@1.2.3"},
		{"", "Server=h;Password=${PASSWORD}"},
		{"", "a;b;c=d"},
		{"", "="},
		{"", ""},
	} {
		if _, _, ok := InArgument(pair[0], pair[1]); ok {
			t.Errorf("%s %s is taken for a secret", pair[0], pair[1])
		}
	}
}

package jsonx

import (
	"encoding/base64"
	"testing"
)

func FuzzAppendBase64(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("any carnal pleasure, and each byte \x00\xff\x80"))
	f.Fuzz(func(t *testing.T, content []byte) {
		for cut := range min(len(content), 12) + 1 {
			want := "before" + base64.StdEncoding.EncodeToString(content[cut:])
			if got := string(AppendBase64([]byte("before"), content[cut:])); got != want {
				t.Fatalf("%q; want %q", got, want)
			}
		}
	})
}

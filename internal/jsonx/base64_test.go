package jsonx

import "testing"

func TestBase64(t *testing.T) {
	for text, want := range map[string]string{"": "", "QQ==": "A", "QUI=": "AB", "+/+/": "\xfb\xff\xbf"} {
		if got, err := Base64(text); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"QQ", "QQ=", "QQ==\n", "Q\r\nQ==", "QR==", "_-_-", " QQ==", "QQ==QQ==", "="} {
		if got, err := Base64(text); err == nil || got != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

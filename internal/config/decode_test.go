package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward/internal/config"
)

type settings struct {
	port  int64
	mode  string
	fast  bool
	names []string
}

func decode(t *testing.T, text string) (settings, error) {
	t.Helper()
	n, err := config.Parse("c.yaml", []byte(text))
	if n == nil {
		t.Fatal(err)
	}
	var s settings
	var d config.Decoder
	d.Include(err)
	d.Fields(n, config.Fields{
		"port": func(n *config.Node) { s.port, _ = d.Int(n, 1, 65535) },
		"mode": func(n *config.Node) { s.mode, _ = d.Word(n, "slow", "quick") },
		"fast": func(n *config.Node) { s.fast, _ = d.Bool(n) },
		"names": func(n *config.Node) {
			d.List(n, func(item *config.Node) {
				if name, ok := d.String(item); ok {
					s.names = append(s.names, name)
				}
			})
		},
	})
	return s, d.Err()
}

func TestDecode(t *testing.T) {
	got, err := decode(t, "port: 8_080\nmode: quick\nfast: True\nnames: [on, a]\n")
	want := settings{port: 8080, mode: "quick", fast: true, names: []string{"on", "a"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(settings{})); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got, err := decode(t, "port: 0x50\n"); err != nil || got.port != 80 {
		t.Error(got, err)
	}
}

func TestDecodeReportsAllMistakes(t *testing.T) {
	_, err := decode(t, "prot: 1\nport: 65_536\nfast: yes\nmode: qick\nnames: [1.10, x, {}, ]\nport: &p 1\nzzzzzzzzz: 1\n")
	want := `c.yaml:1:1: unknown field "prot" (did you mean "port"?)
c.yaml:2:7: port must be between 1 and 65535, not 65_536
c.yaml:3:7: fast must be a boolean, not a string
c.yaml:4:7: mode must be one of slow, quick, not "qick" (did you mean "quick"?)
c.yaml:5:9: names[0] must be a string, not a number; put it in quotes: "1.10"
c.yaml:5:18: names[2] must be a string, not a mapping
c.yaml:6:1: duplicate field "port" (first on line 2)
c.yaml:6:7: the anchor &p is not accepted
c.yaml:7:1: unknown field "zzzzzzzzz"`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRefusesWrongTypes(t *testing.T) {
	for text, want := range map[string]string{
		"[]":                             "c.yaml:1:1: the document must be a mapping, not a list",
		"":                               "c.yaml:1:1: the document must be a mapping, not empty",
		"names: x":                       "c.yaml:1:8: names must be a list, not a string",
		"port: '80'":                     "c.yaml:1:7: port must be an integer, not a string",
		"port: 1e3":                      "c.yaml:1:7: port must be an integer, not a number",
		"port: 080":                      "c.yaml:1:7: port must be an integer, not a string",
		"port: 99999999999999999999":     "c.yaml:1:7: port must be between 1 and 65535, not 99999999999999999999",
		"mode:":                          "c.yaml:1:6: mode must be a string, not empty",
		"PORT: 1":                        `c.yaml:1:1: unknown field "PORT" (did you mean "port"?)`,
		strings.Repeat("n", 200) + ": 1": `c.yaml:1:1: unknown field "` + strings.Repeat("n", 200) + `"`,
	} {
		if _, err := decode(t, text); err == nil || err.Error() != want {
			t.Errorf("%.40q:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestDecodeWithColons(t *testing.T) {
	n, err := config.Parse("c.yaml", []byte("a: 1\nb: {c: x, d: 0, hots: 1}\nhots: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	d := config.Decoder{Colon: true}
	d.Fields(n, config.Fields{
		"a": func(n *config.Node) { d.String(n) },
		"b": func(n *config.Node) {
			d.Fields(n, config.Fields{
				"c":    func(n *config.Node) { d.Word(n, "y") },
				"d":    func(n *config.Node) { d.Int(n, 1, 2) },
				"host": func(n *config.Node) {},
			})
		},
	})
	want := `c.yaml:1:4: a: must be a string, not an integer; put it in quotes: "1"
c.yaml:2:8: b.c: must be one of y, not "x" (did you mean "y"?)
c.yaml:2:14: b.d: must be between 1 and 2, not 0
c.yaml:2:17: b: unknown field "hots" (did you mean "host"?)
c.yaml:3:1: unknown field "hots"`
	if diff := cmp.Diff(want, d.Err().Error()); diff != "" {
		t.Error(diff)
	}
}

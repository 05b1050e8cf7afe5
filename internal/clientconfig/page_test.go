package clientconfig

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThePageSaysWhatIsWrittenWhere holds the tables and the texts of docs/connect.md to what is done.
func TestThePageSaysWhatIsWrittenWhere(t *testing.T) {
	page, err := os.ReadFile("../../docs/connect.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, c := range Clients() {
		var files []string
		for _, file := range c.Places(Machine{OS: "linux", Home: "/home/me"}) {
			files = append(files, "`"+strings.Replace(file, "/home/me", "~", 1)+"`")
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", c, c.Title(), strings.Join(files, ", ")))
	}
	if want := strings.Join(rows, "\n") + "\n\n"; !strings.Contains(string(page), want) {
		t.Errorf("the page lacks the table\n%s", want)
	}
	var shown []Client
	for _, block := range regexp.MustCompile("(?s)```([a-z -]+)\n(.*?)```\n").FindAllStringSubmatch(string(page), -1) {
		for _, name := range strings.Fields(block[1]) {
			c := Client(name)
			shown = append(shown, c)
			text := open(t, c, "")
			if err := text.Set("durward", Entry{Command: "/opt/durward", Args: []string{"mcp", "--config", "/home/me/policy.yaml"}}); err != nil {
				t.Fatal(err)
			}
			if got := string(text.Bytes()); got != block[2] {
				t.Errorf("%s: the page shows\n%s and what is written is\n%s", c, block[2], got)
			}
		}
	}
	if slices.Sort(shown); !slices.Equal(shown, Clients()) {
		t.Errorf("the page shows what %q are told", shown)
	}
}

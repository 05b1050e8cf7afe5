package durward

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryCodeHasAPage holds docs/errors.md to the table of reasons, both ways and
// in its order.
func TestEveryCodeHasAPage(t *testing.T) {
	page, err := os.ReadFile("docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range pageFaults(string(page), Reasons()) {
		t.Errorf("docs/errors.md: %s", fault)
	}
}

func TestPageFaultsAreFound(t *testing.T) {
	section := func(r Reason) string {
		return fmt.Sprintf("## %s %s\n\nIt happened.\n\n* Causes: a.\n* Fix: b.\n* Prevent: c.\n\n", r.Code(), r)
	}
	one, two := section(QueueFull), section(ShuttingDown)
	for _, test := range []struct {
		name, page string
		faults     int
	}{
		{"complete", "# Errors\n\n" + one + "# Area\n\n" + two, 0},
		{"a code without a section", one, 1},
		{"a section without a code", one + two + strings.Replace(two, "014 shutting_down", "999 made_up", 1), 1},
		{"a section twice", one + one + two, 1},
		{"another word", strings.Replace(one, "busy", "full", 1) + two, 2},
		{"out of order", two + one, 1},
		{"no fix", strings.Replace(one, "* Fix: b.\n", "", 1) + two, 1},
		{"an empty cause", strings.Replace(one, "Causes: a.", "Causes:", 1) + two, 1},
		{"nothing happened", one + strings.Replace(two, "It happened.\n", "", 1), 1},
	} {
		if found := pageFaults(test.page, []Reason{QueueFull, ShuttingDown}); len(found) != test.faults {
			t.Errorf("%s: %d faults, want %d: %q", test.name, len(found), test.faults, found)
		}
	}
}

// wholeSection is what stands below a heading: what happened, then the three items.
var wholeSection = regexp.MustCompile(`^\n+[^*#\n][^*]+\n\n\* Causes: .+\n\* Fix: .+\n\* Prevent: .+\n*(# .+\n*)?$`)

// pageFaults tells how a page of error codes differs from what these reasons need.
func pageFaults(page string, reasons []Reason) []string {
	var faults, want, have []string
	for _, r := range reasons {
		want = append(want, r.Code()+" "+string(r))
	}
	for _, section := range strings.Split("\n"+page, "\n## ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		switch {
		case !slices.Contains(want, heading):
			faults = append(faults, heading+" stands for no code")
			continue
		case slices.Contains(have, heading):
			faults = append(faults, heading+" has two sections")
			continue
		case !wholeSection.MatchString(text):
			faults = append(faults, heading+" does not say what happened, causes, fix and how to prevent")
		}
		have = append(have, heading)
	}
	for _, heading := range want {
		if !slices.Contains(have, heading) {
			faults = append(faults, heading+" has no section")
		}
	}
	if len(faults) == 0 && !slices.Equal(have, want) {
		faults = append(faults, "the sections are not in the order of the codes")
	}
	return faults
}

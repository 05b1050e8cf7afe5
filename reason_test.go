package durward

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryReasonHasEveryColumn(t *testing.T) {
	code := regexp.MustCompile(`^DWD-[A-Z]+-[0-9]{3}$`)
	words, codes := map[Reason]bool{}, map[string]bool{}
	for _, r := range Reasons() {
		if words[r] || r == "" {
			t.Errorf("the word %q stands for more than one case", r)
		}
		if codes[r.Code()] || !code.MatchString(r.Code()) {
			t.Errorf("%s: the code %q is taken or malformed", r, r.Code())
		}
		words[r], codes[r.Code()] = true, true
		if !slices.Contains(Kinds(), r.Kind()) {
			t.Errorf("%s has no kind", r)
		}
		if s := r.Summary(); s == "" || strings.HasSuffix(s, ".") || strings.ContainsAny(s, "\n%") {
			t.Errorf("%s has the summary %q", r, s)
		}
	}
}

// A code is never given to another case, so an area counts from 1 without a hole.
func TestReasonCodesCountWithinTheirArea(t *testing.T) {
	count := map[string]int{}
	for _, r := range Reasons() {
		area, _, _ := strings.Cut(strings.TrimPrefix(r.Code(), "DWD-"), "-")
		count[area]++
		if want := fmt.Sprintf("DWD-%s-%03d", area, count[area]); r.Code() != want {
			t.Errorf("%s has the code %s, want %s", r, r.Code(), want)
		}
	}
}

func TestUnknownReason(t *testing.T) {
	r := Reason("made_up")
	if r.Kind() != Internal || r.Code() != "" || r.Summary() != "" {
		t.Errorf("a word outside the set is %v, %q, %q", r.Kind(), r.Code(), r.Summary())
	}
}

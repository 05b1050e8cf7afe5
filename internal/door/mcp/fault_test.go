package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward"
)

// contract lists the words with their integers and their rules.
var contract = map[word]struct {
	code  int
	rules string
}{
	policyDeny: {-31001, "outsideAllowedRoots outsideWriteZones denyNetworkFS notRegularFile specialFilesystem symlinkTarget hardLink maxFileBytes" +
		" commandNotFound argNotAllowed argMetachar argDashNotAllowed argOutsideRoots cwdOutsideRoots cwdNotADirectory cwdNotAllowed envNotAllowed"},
	invalidArgs: {-32602, "emptyPath nulInPath pathTooLong badEncoding badBase64 badOffset badLength badTimeout argNul tooManyArgs argTooLong badEnvName" +
		" dotDotInMissingPath badWindowsName missingField unknownField wrongType"},
	timeout:  {-31002, "timeoutMs concurrency"},
	ioError:  {-31004, "notFound exists parentMissing notADirectory symlinkLoop notUtf8 permission noSpace spawnFailed io"},
	internal: {-32603, "auditUnavailable panic"},
}

// Whatever goes wrong, the answer has one of the words, with its integer and a rule of
// its own.
func TestEveryReasonHasAWord(t *testing.T) {
	failures := []error{errors.New("x"), fmt.Errorf("x: %w", errors.ErrUnsupported)}
	for _, reason := range durward.Reasons() {
		failures = append(failures, &durward.Error{Reason: reason}, fmt.Errorf("x: %w", &durward.Error{Reason: reason, Err: errors.New("x")}))
	}
	for _, kind := range durward.Kinds() {
		failures = append(failures, &durward.Error{Kind: kind})
	}
	for _, err := range failures {
		code, rule := meaning(err)
		want, ok := contract[code]
		if !ok || code.code() != want.code || rule != "" && !slices.Contains(strings.Fields(want.rules), rule) || messageOf(err) == "" {
			t.Errorf("%v (%s): %s %d %q %q", err, durward.ReasonOf(err), code, code.code(), rule, messageOf(err))
		}
	}
	if outputTruncated.code() != -31003 {
		t.Error("OUTPUT_TRUNCATED has another integer")
	}
}

// A call that was broken off is neither a defect nor one that could not be recorded.
func TestWhatIsBrokenOffIsNoDefect(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range []error{&durward.Error{Reason: durward.ShuttingDown}, durward.Ended(ctx, "x")} {
		if code, rule := meaning(err); code != ioError || rule != "io" {
			t.Errorf("%v is answered with %s (%s)", err, code, rule)
		}
	}
}

// A reason that is called by a word of the contract is answered by it.
func TestEveryRuleIsGivenAway(t *testing.T) {
	for code, has := range contract {
		for _, rule := range strings.Fields(has.rules) {
			if rule == "timeoutMs" || rule == "panic" { // reasons have other words for them
				continue
			}
			if got, as := meaning(&durward.Error{Reason: durward.Reason(rule)}); got != code || as != rule {
				t.Errorf("%s is answered with %s (%s), want %s", rule, got, as, code)
			}
		}
	}
}

// A cause is told only where it is made to be told.
func TestCausesStayHere(t *testing.T) {
	for _, reason := range durward.Reasons() {
		message := messageOf(&durward.Error{Reason: reason, Err: errors.New("/srv/secret")})
		if strings.Contains(message, "secret") != told[reason] {
			t.Errorf("%s: %q", reason, message)
		}
	}
}

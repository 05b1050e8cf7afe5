package release

import (
	"archive/tar"
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/durward/durward/internal/release/releasetest"
)

func TestVersions(t *testing.T) {
	for _, text := range []string{"", "v1.2.3", "1", "1.2", "01.2.3", "1.2.3+a", "1.2.3 ", "1.2.3\n", "dev", "0.3.0-4-gabc-dirty+x", "1.2.3-", "1.2.3-" + strings.Repeat("a", maxVersion), "..", "1.2.3/x"} {
		if v, err := ParseVersion(text); err == nil {
			t.Errorf("%q is %s", text, v)
		}
	}
	order := []Version{"0.3.0-alpha", "0.3.0-beta.2", "0.3.0-beta.10", "0.3.0", "0.3.1", "0.10.0", "1.0.0"}
	for i, v := range order {
		if _, err := ParseVersion(string(v)); err != nil {
			t.Error(err)
		}
		for j, w := range order {
			if v.Older(w) != (i < j) {
				t.Errorf("%s, %s", v, w)
			}
		}
		if beta := strings.Contains(string(v), "-"); Beta.has(v) != beta || Stable.has(v) == beta {
			t.Errorf("the channel of %s", v)
		}
	}
}

var goodSum = strings.Repeat("0a", 32)

func TestSumsThatAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no end":          goodSum + "  a",
		"an empty line":   goodSum + "  a\n\n",
		"one space":       goodSum + " a\n",
		"binary":          goodSum + " *a\n",
		"upper case":      strings.ToUpper(goodSum) + "  a\n",
		"short":           goodSum[2:] + "  a\n",
		"long":            goodSum + "00  a\n",
		"no digits":       "zz" + goodSum[2:] + "  a\n",
		"no name":         goodSum + "  \n",
		"a folder":        goodSum + "  a/b\n",
		"up":              goodSum + "  ..\n",
		"hidden":          goodSum + "  .a\n",
		"a space":         goodSum + "  a b\n",
		"carriage return": goodSum + "  a\r\n",
		"twice":           goodSum + "  a\n" + goodSum + "  a\n",
		"escaped":         `\` + goodSum + "  a\n",
	} {
		if s, err := parseSums([]byte(text)); err == nil {
			t.Errorf("%s: %v", name, s)
		}
	}
	if s, err := parseSums(nil); err != nil || s.check("a", nil) == nil {
		t.Errorf("nothing: %v %v", s, err)
	}
}

// What is taken is exactly what the sums would be written as.
func FuzzSums(f *testing.F) {
	f.Add([]byte(goodSum + "  durward_0.4.0_linux_amd64.tar.gz\n" + goodSum + "  b\n"))
	f.Add([]byte(goodSum + "  a\n" + goodSum + "  a\n"))
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseSums(text)
		if err != nil {
			return
		}
		lines := slices.Collect(strings.Lines(string(text)))
		slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
		var again strings.Builder
		for _, name := range slices.Sorted(maps.Keys(s)) {
			if strings.ContainsAny(name, "/\\: \x00") {
				t.Errorf("%q is taken for a name", name)
			}
			fmt.Fprintf(&again, "%x  %s\n", s[name], name)
		}
		if again.String() != strings.Join(lines, "") {
			t.Errorf("%q is read as %q", text, again.String())
		}
	})
}

// Whatever an archive is, what is taken out of it is the program of the one entry that has its
// name, and an archive is refused or read twice alike.
func FuzzArchive(f *testing.F) {
	for _, entries := range [][]releasetest.Entry{
		{program}, {releasetest.Folder("man"), program, releasetest.File("LICENSE", []byte("x"))}, {program, releasetest.File("../x", nil)}, {special('2', "x"), program},
	} {
		archive, err := releasetest.Archive(entries...)
		must(f, err)
		f.Add(archive)
	}
	f.Fuzz(func(t *testing.T, archive []byte) {
		found, err := unpack(archive, here.program(), 1<<20)
		again, errAgain := unpack(archive, here.program(), 1<<20)
		if !bytes.Equal(found, again) || (err == nil) != (errAgain == nil) {
			t.Errorf("%q %v, then %q %v", found, err, again, errAgain)
		}
		if (err == nil) != (len(found) > 0) || len(found) > 1<<20 {
			t.Errorf("%d bytes, %v", len(found), err)
		}
	})
}

// An archive that unpacks to far more than its size is not unpacked, wherever it grows.
func TestArchivesThatGrow(t *testing.T) {
	const most = 64 << 10
	zeros := releasetest.File("man/zeros", make([]byte, most))
	for _, entries := range [][]releasetest.Entry{{program, zeros}, {zeros, program}, {releasetest.File(here.program(), zeros.Body)}} {
		archive, err := releasetest.Archive(entries...)
		must(t, err)
		if _, err := unpack(archive, here.program(), most); err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%d bytes: %v", len(archive), err)
		}
		if _, err := unpack(archive, here.program(), 2*most); err != nil {
			t.Errorf("%d bytes: %v", len(archive), err)
		}
	}
	huge := releasetest.Entry{Header: tar.Header{Name: here.program(), Typeflag: tar.TypeReg, Size: maxProgram + 1}}
	if _, err := readProgram(&huge.Header, nil); err == nil {
		t.Error("a huge program is read")
	}
}

func TestArchivesOfTooManyEntries(t *testing.T) {
	entries := []releasetest.Entry{program}
	for i := range maxEntries {
		entries = append(entries, releasetest.File(fmt.Sprintf("man/%d", i), nil))
	}
	archive, err := releasetest.Archive(entries...)
	must(t, err)
	if _, err := unpack(archive, here.program(), maxUnpacked); err == nil || !strings.Contains(err.Error(), "entries") {
		t.Errorf("%v", err)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	good := string(newSigner(t).PublicKey)
	line := strings.Split(good, "\n")[1]
	for _, text := range []string{"", "x", line[1:], line + line, "untrusted comment: x\n", "RW" + line} {
		if _, err := ParseKey([]byte(text)); err == nil {
			t.Errorf("%q is a key", text)
		}
	}
	for _, text := range []string{good, line, line + "\n"} {
		if _, err := ParseKey([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

package changeset

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Nothing is shown by a change that the command could not read itself, and a line says so.
func TestOverlayShowsNoSecrets(t *testing.T) {
	if os.Getenv(roomVariable) == user {
		t.Skip("there is only one owner")
	}
	replaced, moved := "rm a; echo harmless >a; chown 77:78 a", "mv a b"
	for _, test := range []struct {
		name     string
		uid, gid int
		bits     os.FileMode
		owned    bool
		listed   bool // it has an access list
		script   string
		told     string // instead of the secret; nothing where that is shown
	}{
		{name: "root's", bits: 0o600, script: replaced, told: "what a held"},
		{name: "root's, moved", bits: 0o600, script: moved, told: "what b holds"},
		{name: "root's, written to", bits: 0o622, script: "echo harmless >>a", told: "what a holds"},
		{name: "root's, for all", bits: 0o604, script: replaced},
		{name: "root's, shown as the command's", bits: 0o600, owned: true, script: replaced},
		{name: "its own", uid: 77, bits: 0o200, script: replaced},
		{name: "another's", uid: 76, gid: 76, bits: 0o640, script: replaced, told: "what a held"},
		{name: "of its group", gid: 78, bits: 0o640, script: replaced},
		{name: "for all but its group", gid: 78, bits: 0o604, script: replaced, told: "what a held"},
		{name: "of a group shown as its own", uid: 76, bits: 0o640, owned: true, script: replaced},
		{name: "with an access list", bits: 0o644, listed: true, script: replaced, told: "what a held"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"a": "SECRET\n"})
			must(t, os.Chown(w.lower+"/a", test.uid, test.gid))
			must(t, os.Chmod(w.lower+"/a", test.bits))
			if test.listed {
				closeTo(t, w.lower+"/a", 77)
			}
			w.shell(t, test.script)
			l := w.layers(t)
			l.UID, l.GID, l.Owned = 77, 78, test.owned
			s, err := Read(t.Context(), l, 0)
			must(t, err)
			text := shown(t, s)
			for part, want := range map[string]bool{
				"\n" + test.told + " is not shown: the command could not read it\n": test.told != "",
				"SECRET":      test.told == "",
				"+harmless\n": test.script == replaced,
			} {
				if strings.Contains(text, part) != want {
					t.Errorf("it shows %q: %v\n%s", part, !want, text)
				}
			}
		})
	}
}

// closeTo has an access list keep a user, and nobody else, from reading a file.
func closeTo(t *testing.T, name string, uid uint32) {
	t.Helper()
	const nobody = ^uint32(0)
	acl := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{0x01, 6, nobody}, {0x02, 0, uid}, {0x04, 4, nobody}, {0x10, 4, nobody}, {0x20, 4, nobody}} {
		acl = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(acl, e.tag), e.perm), e.id)
	}
	if err := unix.Setxattr(name, "system.posix_acl_access", acl, 0); err != nil {
		t.Skip("there are no access lists:", err)
	}
}

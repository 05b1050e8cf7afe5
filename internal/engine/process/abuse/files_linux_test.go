//go:build linux && abuse && (amd64 || arm64)

package abuse

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestV01ReadOutside(t *testing.T) {
	row{id: "V01", needs: "fs.read", from: 1}.tries(t, []try{
		{"read $secret", hidden, true},
		{"read ../outside/secret", hidden, true},
		{"read $ws/../outside/secret", hidden, true},
		{"read $ws/dir/../../outside/secret", hidden, true},
		{"read /proc/self/root$secret", hidden, true},
		{"read /proc/self/cwd/../outside/secret", hidden, true},
		{"read /proc/1/root$secret", hidden, false},
		{"read /proc/$runtime/root$secret", hidden, false},
		{"read /proc/$canary/root$secret", hidden, false},
		{"read /proc/$canary/cwd$secret", hidden, false},
		{"reopen $secret", hidden, true},
		{"handle $secret", hidden, false},
		{"list $outside", hidden, true},
		{"read /etc/shadow", hidden, false},
		{"read /etc/machine-id", hidden, false},
	})
}

// The directories above what may be read show, if anything, only that.
func TestV01ListAbove(t *testing.T) {
	row{id: "V01", needs: "fs.read", from: 1}.each(t, func(s *scene) {
		for _, dir := range []string{s.top, filepath.Dir(s.top), "/", "/home", "/root", "/var", "/etc"} {
			for _, name := range strings.Fields(s.attempt("list", dir).Got) {
				if slices.Contains([]string{"outside", "audit", "scratch", "shadow", "machine-id", "swapfile"}, name) {
					s.Errorf("%s shows %s", dir, name)
				}
			}
		}
	})
}

// The programs that everybody has are tried, too.
func TestV01ReadOutsideByCat(t *testing.T) {
	row{id: "V01", needs: "fs.read", from: 1}.each(t, func(s *scene) {
		for _, path := range []string{"$secret", "../outside/secret"} {
			r, err := s.shell("cat " + s.expand(path)[0])
			if err != nil || r.ExitStatus() == 0 || len(r.Stdout.Bytes()) > 0 {
				s.Errorf("%s: exit %d, %v: %q", path, r.ExitStatus(), err, r.Stdout.Bytes())
			}
		}
	})
}

func TestV02WriteOutside(t *testing.T) {
	row{id: "V02", needs: "fs.write", from: 1}.tries(t, []try{
		{"create $outside/new", blocked, true},
		{"create ../outside/new", blocked, true},
		{"create /proc/self/root$outside/new", blocked, true},
		{"create $readable/new", blocked, false},
		{"append $victim", blocked, true},
		{"overwrite $victim", blocked, true},
		{"overwrite $outside/link", blocked, true},
		{"overwrite /proc/$canary/root$victim", blocked, false},
		{"tmpfile $outside", blocked, true},
		{"mkdir $outside/new", blocked, true},
		{"symlink x $outside/new", blocked, true},
		{"fifo $outside/new", blocked, true},
		{"mknod $outside/new f 0 0", blocked, true},
		{"bind $outside/new", blocked, true},
		{"remove $victim", blocked, true},
		{"rmdir $outside/empty", blocked, true},
		{"create /etc/durward-abuse", blocked, false},
		{"create /usr/durward-abuse", blocked, false},
	})
}

func TestV02WriteOutsideByShell(t *testing.T) {
	row{id: "V02", needs: "fs.write", from: 1}.each(t, func(s *scene) {
		r, err := s.shell("echo x > " + filepath.Join(s.outside, "new"))
		if err != nil || r.ExitStatus() == 0 {
			s.Errorf("exit %d, %v", r.ExitStatus(), err)
		}
	})
}

// What the command is allowed works: a sandbox in which nothing does would pass all else.
func TestWhatIsAllowed(t *testing.T) {
	row{id: "V00", needs: "fs.read, fs.write", from: 1}.each(t, func(s *scene) {
		for _, what := range []string{
			"read $readable/file", "read file", "append file", "create new", "rename new dir/new", "remove dir/new", "mkdir d", "rmdir d",
			"symlink file l", "link file h", "fifo p", "read /etc/passwd", "open /dev/null", "openwrite /dev/null", "list .",
		} {
			s.must(s.attempt(s.expand(what)...))
		}
		r, err := s.shell(`echo x > $TMPDIR/f && cat $TMPDIR/f && [ -d "$HOME" ]`)
		if err != nil || string(r.Stdout.Bytes()) != "x\n" {
			s.Errorf("the private directory: %q %q, %v", r.Stdout.Bytes(), r.Stderr.Bytes(), err)
		}
	})
}

func TestV03SymlinkToSecret(t *testing.T) {
	row{id: "V03", needs: "fs.read", from: 1}.tries(t, []try{
		{"symlink $secret l; read l", hidden, true},
		{"symlink ../outside/secret l2; read l2", hidden, true},
		{"symlink $outside l3; read l3/secret", hidden, true},
		{"symlink l5 l4; symlink $secret l5; read l4", hidden, true},
		{"symlink /proc/self/root$secret l6; read l6", hidden, true},
		{"symlink /proc/$canary/cwd l7; read l7$secret", hidden, false},
	})
}

func TestV04SymlinkToDirectory(t *testing.T) {
	row{id: "V04", needs: "fs.write", from: 1}.tries(t, []try{
		{"symlink $outside d; create d/x", blocked, true},
		{"symlink ../outside d2; create d2/x", blocked, true},
		{"symlink $victim d3; append d3", blocked, true},
		{"symlink $outside d4; rename file d4/x", blocked, true},
		{"symlink $outside d5; mkdir d5/x", blocked, true},
		{"symlink /etc d6; create d6/durward-abuse", blocked, false},
		{"symlink $outside/new d7; append d7", blocked, false},
	})
}

func TestV05HardLink(t *testing.T) {
	row{id: "V05", needs: "fs.write", from: 1}.tries(t, []try{
		{"link $victim h", blocked, true},
		{"link $secret h", blocked, true},
		{"linkopen $victim h", blocked, true},
		{"link ../outside/victim h", blocked, true},
		{"link $outside/link h", blocked, true},
		{"link $readable/file h", blocked, false},
		{"link file $outside/h", blocked, true},
		{"link file $readable/h", blocked, false},
	})
}

func TestV06Rename(t *testing.T) {
	row{id: "V06", needs: "fs.write", from: 1}.tries(t, []try{
		{"rename file $outside/new", blocked, true},
		{"rename file $victim", blocked, true},
		{"rename $victim taken", blocked, true},
		{"rename $outside/empty taken", blocked, true},
		{"rename $outside/link taken", blocked, true},
		{"rename $readable/file taken", blocked, false},
		{"rename dir $outside/new", blocked, true},
		{"exchange file $victim", blocked, true},
		{"rename $victim $outside/new", blocked, true},
		{"rename $ws $outside/new", blocked, false},
	})
}

func TestV07Truncate(t *testing.T) {
	row{id: "V07", needs: "fs.write", from: 1}.tries(t, []try{
		{"truncate $victim", blocked, true},
		{"truncate ../outside/victim", blocked, true},
		{"truncate $outside/link", blocked, true},
		{"trunc $victim", blocked, true},
		{"readtrunc $victim", blocked, true},
		{"symlink $victim l; truncate l", blocked, true},
		{"truncate $readable/file", blocked, false},
	})
}

func TestV08Metadata(t *testing.T) {
	row{id: "V08", needs: "fs.meta", from: 2}.tries(t, []try{
		{"chmod $victim 0600", blocked, true},
		{"chmodopen $victim 0600", blocked, true},
		{"chown $victim", blocked, true},
		{"utimes $victim", blocked, true},
		{"setxattr $victim", blocked, true},
		{"removexattr $victim", blocked, true},
		{"getxattr $victim", hidden, true},
		{"symlink $victim l; chmod l 0600", blocked, true},
		{"chmod ../outside/victim 0600", blocked, true},
		{"stat $secret", hidden, true},
		{"statx $secret", hidden, true},
		{"access $secret", hidden, true},
		{"readlink $outside/link", hidden, true},
		{"watch $outside", hidden, true},
		{"chmod $readable/file 0600", blocked, false},
		{"chmod $readable 0700", blocked, false},
	})
}

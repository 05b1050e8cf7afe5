package release

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/dirlock"
)

// A Place is where a program is installed, locked against everybody else who would install
// there. Beside the program stands the one it replaced, so that the two can change places.
//
// Whenever a process that holds one is killed, the program is the former or the new one, whole
// and durable, and what was left unfinished is put right by the next [Open].
type Place struct {
	// Path is the program's, free of links.
	Path string
	lock *os.File

	// exchange has two files change names in one step. It fails with errNoExchange where the
	// file system cannot.
	exchange func(one, other string) error
	// movesAway is set where a program that runs cannot be replaced, and can be renamed.
	movesAway bool
	// reached is told of each step before it is made. Tests end the process there.
	reached func(step string)
}

// errNoExchange says that two files cannot change names in one step.
var errNoExchange = errors.New("files cannot change names in one step")

// Open locks the folder of a program and puts right what a process that was killed there has
// left. The folder has to be there, the program need not. A symbolic link in its place is
// followed. The caller closes what it gets.
func Open(path string) (*Place, error) {
	return open(&Place{Path: path, exchange: exchange, movesAway: runtime.GOOS == "windows", reached: func(string) {}})
}

func open(p *Place) (*Place, error) {
	var err error
	if p.Path, err = Resolve(p.Path); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(p.Path); err == nil && !info.Mode().IsRegular() {
		return nil, &durward.Error{Reason: durward.NotRegularFile, Op: "install", Err: fmt.Errorf("%s is no file", p.Path), Hint: "move it away, or name another folder with --dest DIR"}
	}
	if p.lock, err = dirlock.Lock(p.dir()); err != nil {
		return nil, locked(p.dir(), err)
	}
	if err = p.judge(); err == nil {
		err = p.tidy()
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// judge refuses a folder in which anybody may give another file the name of the program, or of what
// is about to become it.
func (p *Place) judge() error {
	info, err := p.lock.Stat()
	if err != nil {
		return failed("look at the folder", err)
	}
	if !isOpenToAll(info) {
		return nil
	}
	return &durward.Error{
		Reason: durward.FilePermission, Op: "install", Err: fmt.Errorf("everybody may write to %s (mode %04o), and put another program there", p.dir(), info.Mode().Perm()),
		Hint: "take that right from others with chmod o-w, or name another folder with --dest DIR",
	}
}

// Resolve gives the path of a program free of links; the program need not be there, its folder
// has to.
func Resolve(path string) (string, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", failed("find the folder", err)
		}
		return filepath.Join(dir, filepath.Base(path)), nil
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", failed("find the program", err)
	}
	return path, nil
}

// Close unlocks the folder.
func (p *Place) Close() error { return p.lock.Close() }

func (p *Place) dir() string { return filepath.Dir(p.Path) }

// Previous is the path of the program that was replaced last.
func (p *Place) Previous() string { return p.beside("", previousMark) }

// previousMark is what the name of a previous program has more than its own.
const previousMark = ".previous"

// Installed gives the path of the program that a file is the previous one of, and that of any
// other file as it is. Whoever runs the previous one means to change the program.
func Installed(path string) string {
	ext := exeOf(path)
	if name, ok := strings.CutSuffix(strings.TrimSuffix(path, ext), previousMark); ok {
		return name + ext
	}
	return path
}

// exeOf gives the .exe that the name of a program of Windows ends in, or nothing.
func exeOf(path string) string {
	if ext := filepath.Ext(path); strings.EqualFold(ext, ".exe") {
		return ext
	}
	return ""
}

// aside is where a program stands while two of them change places in several steps.
func (p *Place) aside() string { return p.beside(".", ".aside") }

// fresh is the pattern of the names of files that are not whole yet.
func (p *Place) fresh() string { return filepath.Base(p.beside(".", ".new-*")) }

// spare is the second name of the previous program while another one has its name. Like what is not
// whole, it is removed after whoever is killed then.
func (p *Place) spare() string { return p.beside(".", ".new-former") }

// beside gives a name beside the program's; what is to be started keeps the end .exe.
func (p *Place) beside(before, mark string) string {
	name := filepath.Base(p.Path)
	ext := exeOf(name)
	return filepath.Join(p.dir(), before+strings.TrimSuffix(name, ext)+mark+ext)
}

// tidy removes what is not whole, and ends an exchange that was not brought to its end.
func (p *Place) tidy() error {
	entries, err := p.lock.ReadDir(-1) // by any other way a folder that is locked cannot be read on Windows
	if err != nil {
		return failed("read the folder", err)
	}
	begin, end, _ := strings.Cut(p.fresh(), "*")
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), begin) && strings.HasSuffix(entry.Name(), end) && entry.Type().IsRegular() {
			if err := os.Remove(filepath.Join(p.dir(), entry.Name())); err != nil {
				return failed("remove what a killed installation left", err)
			}
		}
	}
	return p.mend()
}

// mend ends an exchange in several steps: of the three names that two programs have in its
// course, exactly one is free.
func (p *Place) mend() error {
	var err error
	switch {
	case !exists(p.aside()):
		return nil
	case !exists(p.Path):
		err = os.Rename(p.aside(), p.Path)
	case !exists(p.Previous()):
		err = os.Rename(p.aside(), p.Previous())
	default: // it had not begun
		err = os.Remove(p.aside())
	}
	if err != nil {
		return failed("put right what a killed installation left", err)
	}
	return p.sync()
}

// Put has the program take the place of the one that is there, and keeps that one as the
// previous. try starts the new one before anything is replaced, and may refuse it.
//
// After an error the program is what it was, and no file is left that was not there.
func (p *Place) Put(program []byte, try func(path string) error) error {
	fresh, err := p.write(bytes.NewReader(program))
	if err != nil {
		return failed("write the program", err)
	}
	if err = try(fresh); err == nil {
		err = p.take(fresh)
	}
	if err != nil {
		return errors.Join(err, removeIfThere(fresh))
	}
	return nil
}

// take gives a file that is whole its name. The new program first takes the place of the
// previous one; then both change places, as they do in a [Place.Rollback]: who is killed
// between these has a program and another one to go to.
func (p *Place) take(fresh string) error {
	if !exists(p.Path) {
		p.reached("first")
		return p.rename(fresh, p.Path)
	}
	before, err := os.Lstat(p.Previous())
	there := err == nil
	p.reached("spare")
	spared := there && before.Mode().IsRegular() && os.Link(p.Previous(), p.spare()) == nil
	p.reached("stage")
	if err = p.rename(fresh, p.Previous()); err == nil {
		err = p.change()
	}
	if err != nil {
		return errors.Join(err, p.unstage(there, spared))
	}
	return errors.Join(p.settle(), removeIfThere(p.spare()))
}

// unstage has the former program that was there keep its name after all. Where files can have only
// one name, it is gone with a change that failed, and the new one stays to go to.
func (p *Place) unstage(there, spared bool) error {
	switch {
	case exists(p.aside()): // the next Open knows how far it came
	case spared:
		if err := os.Rename(p.spare(), p.Previous()); err != nil {
			return err
		}
	case !there:
		return removeIfThere(p.Previous())
	}
	return removeIfThere(p.spare()) // a change of names between two names of one file is none
}

// Rollback has the program and the previous one change places: done twice, everything is as it
// was. try starts the previous one first, and may refuse it.
func (p *Place) Rollback(try func(path string) error) error {
	info, err := os.Lstat(p.Previous())
	switch {
	case err != nil || !exists(p.Path):
		return nothingKept(fmt.Errorf("there is no %s", p.Previous()))
	case !info.Mode().IsRegular():
		return nothingKept(fmt.Errorf("%s is no file", p.Previous()))
	}
	if err := try(p.Previous()); err != nil {
		return err
	}
	return p.swap()
}

func nothingKept(err error) error {
	return &durward.Error{
		Reason: durward.NothingKept, Op: "roll back", Err: err,
		Hint: "a former program is kept by durward update, beside the one it replaces",
	}
}

func (p *Place) swap() error {
	if err := p.change(); err != nil {
		return err
	}
	return p.settle()
}

// settle makes a change last.
func (p *Place) settle() error {
	p.reached("swapped")
	return p.sync()
}

// change has the program and the previous one change places.
func (p *Place) change() error {
	p.reached("swap")
	err := p.exchange(p.Path, p.Previous())
	if errors.Is(err, errNoExchange) {
		err = p.swapInSteps()
	}
	if err != nil {
		return failed("have the two programs change places", err)
	}
	return nil
}

// swapInSteps is swap for file systems that cannot exchange two names. The program has its name
// at any time, unless it has to be moved away first.
func (p *Place) swapInSteps() error {
	p.reached("aside")
	if err := p.setAside(); err != nil {
		return err
	}
	p.reached("forth")
	if err := os.Rename(p.Previous(), p.Path); err != nil {
		return errors.Join(err, p.mend())
	}
	p.reached("back")
	return os.Rename(p.aside(), p.Previous())
}

// setAside gives the program a second name, as a copy where files can have only one.
func (p *Place) setAside() error {
	if p.movesAway {
		return os.Rename(p.Path, p.aside())
	}
	if os.Link(p.Path, p.aside()) == nil {
		return nil
	}
	was, err := os.Open(p.Path)
	if err != nil {
		return err
	}
	defer was.Close()
	fresh, err := p.write(was)
	if err == nil {
		err = os.Rename(fresh, p.aside())
	}
	return err
}

// write makes a file beside the program, whole and durable. It gives no name after an error.
func (p *Place) write(content io.Reader) (name string, err error) {
	p.reached("create")
	f, err := os.CreateTemp(p.dir(), p.fresh())
	if err != nil {
		return "", err
	}
	p.reached("write")
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Chmod(0o755)
	}
	if err == nil {
		p.reached("sync")
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

func (p *Place) rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return failed("name the program", err)
	}
	return p.sync()
}

func (p *Place) sync() error {
	err := p.lock.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || runtime.GOOS == "windows" {
		return nil // no folder of this file system can be synced
	}
	if err != nil {
		return failed("make the change last through a crash of the machine", err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func locked(dir string, err error) error {
	if isLocked(err) {
		return &durward.Error{
			Reason: durward.InstallBusy, Op: "install", Err: fmt.Errorf("another durward installs or updates in %s", dir),
			Hint: "wait until it is done, and run it again",
		}
	}
	if errno := syscall.Errno(0); !errors.As(err, &errno) { // the system would let us, and it is another user's
		err = fmt.Errorf("%w: %w", err, fs.ErrPermission)
	}
	return failed("lock the folder", err)
}

// failed says what went wrong at a step, and what to do about it.
func failed(step string, err error) error {
	e := &durward.Error{Reason: durward.FileIO, Op: step, Err: err, Hint: "see what is the matter with the folder, and run it again; nothing is lost"}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Reason, e.Hint = durward.FilePermission, "install to a folder you may write to with --dest DIR, or run it as the one whom the folder belongs to"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Reason, e.Hint = durward.NoSpace, "make room there and run it again, or install to another disk with --dest DIR"
	case errors.Is(err, syscall.ENOTDIR):
		e.Reason, e.Hint = durward.NotADirectory, "name a folder with --dest DIR"
	case errors.Is(err, fs.ErrNotExist):
		e.Reason, e.Hint = durward.FileNotFound, "name a folder with --dest DIR; a link has to lead somewhere"
	}
	return e
}

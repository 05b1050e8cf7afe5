//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Two tiny programs are part of this one as assembly functions: the reaper, and the
// orphan that probes use. Neither is ever called here. Their instructions are copied
// into an ELF file in memory when first needed, so that nothing has to be built with
// another tool, shipped beside us or found on a disk.

//lint:ignore U1000 its text is copied
func reaper()

//lint:ignore U1000 its text is copied
func orphan()

// reaperText and orphanText give the first instruction of each program.
func reaperText() *byte
func orphanText() *byte

var (
	reaperProgram = sync.OnceValues(func() (*os.File, error) { return sealed("durward-reaper", reaperText()) })
	orphanProgram = sync.OnceValues(func() (*os.File, error) { return sealed("durward-orphan", orphanText()) })
)

// sealed gives a descriptor of the program that begins at text, in memory that nobody
// can change any more.
func sealed(name string, text *byte) (*os.File, error) {
	code, err := instructions(text)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(elfFile(code)); err != nil {
		f.Close()
		return nil, err
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		f.Close()
		return nil, fmt.Errorf("seal: %w", err)
	}
	return f, nil
}

// instructions copies a program up to the mark behind it.
func instructions(text *byte) ([]byte, error) {
	const longest = 4096
	window := unsafe.Slice(text, longest)
	end := bytes.Index(window, []byte("<end of text>"))
	if end < 0 {
		return nil, errors.New("an embedded program has no end mark")
	}
	return bytes.Clone(window[:end]), nil
}

// elfFile wraps instructions in the smallest static program: one segment to execute
// and one of zeroes for the reaper's block.
func elfFile(code []byte) []byte {
	const (
		fileHeader, programHeader = 64, 56
		headers                   = fileHeader + 3*programHeader
		readExecute, readWrite    = 5, 6
		load, gnuStack            = 1, 0x6474e551
		page                      = 0x10000
	)
	le := binary.LittleEndian
	b := make([]byte, 0, headers+len(code))
	b = append(b, 0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	b = le.AppendUint16(b, 2) // executable at a fixed address
	b = le.AppendUint16(b, elfMachine)
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, reaperCode+headers) // entry
	b = le.AppendUint64(b, fileHeader)         // program headers
	b = le.AppendUint64(b, 0)                  // no sections
	b = le.AppendUint32(b, 0)
	for _, half := range []uint16{fileHeader, programHeader, 3, 0, 0, 0} {
		b = le.AppendUint16(b, half)
	}
	size := uint64(headers + len(code))
	for _, p := range []struct {
		kind, flags            uint32
		addr, inFile, inMemory uint64
	}{
		{load, readExecute, reaperCode, size, size},
		{load, readWrite, reaperBase, 0, blockMax + scratchSize},
		{gnuStack, readWrite, 0, 0, 0},
	} {
		b = le.AppendUint32(b, p.kind)
		b = le.AppendUint32(b, p.flags)
		for _, v := range []uint64{0, p.addr, p.addr, p.inFile, p.inMemory, page} {
			b = le.AppendUint64(b, v)
		}
	}
	return append(b, code...)
}

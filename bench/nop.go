//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// writeNop writes the smallest static program that does nothing, so that the floor
// of a spawn is as low as it can be.
func writeNop(dir string) (string, error) {
	var machine uint16
	var code []byte
	switch runtime.GOARCH {
	case "amd64":
		machine, code = 62, []byte{0x31, 0xff, 0xb8, 0xe7, 0, 0, 0, 0x0f, 0x05} // exit_group(0)
	case "arm64":
		machine, code = 183, []byte{0, 0, 0x80, 0xd2, 0xc8, 0x0b, 0x80, 0xd2, 1, 0, 0, 0xd4}
	default:
		return "", fmt.Errorf("no do-nothing program for %s", runtime.GOARCH)
	}
	const base, headers = 0x400000, 64 + 56
	le := binary.LittleEndian
	b := []byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	b = le.AppendUint16(b, 2)
	b = le.AppendUint16(b, machine)
	b = le.AppendUint32(b, 1)
	for _, v := range []uint64{base + headers, 64, 0} {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{64, 56, 1, 0, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	b = le.AppendUint32(b, 1) // load
	b = le.AppendUint32(b, 5) // read, execute
	size := uint64(headers + len(code))
	for _, v := range []uint64{0, base, base, size, size, 0x10000} {
		b = le.AppendUint64(b, v)
	}
	path := filepath.Join(dir, "nop")
	return path, os.WriteFile(path, append(b, code...), 0o755)
}

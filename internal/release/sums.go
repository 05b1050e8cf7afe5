package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// The files that every release has.
const (
	sumsName      = "SHA256SUMS"
	signatureName = "SHA256SUMS.minisig"
)

// A sums is what SHA256SUMS says: the sum of each asset by its name.
type sums map[string][sha256.Size]byte

// parseSums reads SHA256SUMS.
func parseSums(text []byte) (sums, error) {
	s := sums{}
	for n := 1; len(text) > 0; n++ {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		if !ended {
			return nil, errors.New("its last line has no end")
		}
		if err := s.add(string(line)); err != nil {
			return nil, fmt.Errorf("line %d %w", n, err)
		}
		text = rest
	}
	return s, nil
}

func (s sums) add(line string) error {
	digits, name, ok := strings.Cut(line, "  ")
	sum, err := hex.DecodeString(digits)
	switch {
	case !ok || err != nil || len(sum) != sha256.Size || strings.ToLower(digits) != digits:
		return errors.New("is not a sum, two spaces and a name")
	case !isAssetName(name):
		return errors.New("names no plain file")
	}
	if _, twice := s[name]; twice {
		return fmt.Errorf("names %s for the second time", name)
	}
	s[name] = [sha256.Size]byte(sum)
	return nil
}

// isAssetName reports whether a name leads to a file of the very folder, on any system and in
// any address.
func isAssetName(name string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+~-"
	return name != "" && len(name) <= 255 && name[0] != '.' && !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune(plain, r)
	})
}

// check compares an asset with its sum.
func (s sums) check(name string, asset []byte) error {
	if sum, ok := s[name]; !ok || sha256.Sum256(asset) != sum {
		return fmt.Errorf("%s is not what %s says of it", name, sumsName)
	}
	return nil
}

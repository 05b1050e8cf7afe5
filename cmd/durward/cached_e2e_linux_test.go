//go:build e2e && linux && (amd64 || arm64)

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// filling is held by the test that fills a folder of the cache.
var filling sync.Mutex

// cached gives a folder of the user's cache that was filled once for each text of a key. Another
// run may fill it at the same time: the folder is there as a whole or not at all.
func cached(t *testing.T, name, key string, fill func(work string)) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	filling.Lock()
	defer filling.Unlock()
	folder := filepath.Join(cache, "durward", fmt.Sprintf("%s-%.8x", name, sha256.Sum256([]byte(key))))
	if _, err := os.Stat(folder); err == nil {
		return folder
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(folder), name+"-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(work) }) // it is there when something failed
	fill(work)
	if err := os.Rename(work, folder); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	return folder
}

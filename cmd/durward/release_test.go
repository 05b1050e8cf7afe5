package main

import (
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/durward/durward/internal/release/releasetest"
)

// A keyring is the keys that a script signs with, by their names.
type keyring map[string]*releasetest.Signer

// keys is what the keyring of a script is kept under.
const keys = "keys"

// releases makes the folder of a release whose program can only say its version, signed by
// the key of a name, whose public key is then in KEY.pub: releases KEY FOLDER VERSION [SAID]
//
// The program says another version than the release where one is given.
func releases(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: releases KEY FOLDER VERSION [SAID]")
	}
	folder, version := ts.MkAbs(args[1]), args[2]
	ts.Check(signer(ts, args[0]).Make(folder, version, releasetest.Script(args[len(args)-1])))
}

func signer(ts *testscript.TestScript, name string) *releasetest.Signer {
	ring := ts.Value(keys).(keyring)
	if ring[name] == nil {
		key, err := releasetest.NewSigner()
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name+".pub"), key.PublicKey, 0o644))
		ring[name] = key
	}
	return ring[name]
}

// escapes has the release in a folder hold an entry of a name beside the program, signed by the
// key of a name: escapes KEY FOLDER VERSION ENTRY
func escapes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: escapes KEY FOLDER VERSION ENTRY")
	}
	archive, err := releasetest.Archive(releasetest.File("durward", releasetest.Script(args[2])), releasetest.File(args[3], []byte("escaped")))
	ts.Check(err)
	ts.Check(signer(ts, args[0]).MakeOf(ts.MkAbs(args[1]), args[2], archive))
}

// secures gives out a folder over TLS until the script ends, and sets URL. Its authority is in
// authority.pem: secures FOLDER
//
// What is below /plain is sent on to an address without TLS.
func secures(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: secures FOLDER")
	}
	files := http.FileServer(http.Dir(ts.MkAbs(args[0])))
	plain := httptest.NewServer(http.StripPrefix("/plain", files))
	mux := http.NewServeMux()
	mux.Handle("/", files)
	mux.HandleFunc("/plain/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+r.URL.Path, http.StatusFound)
	})
	server := httptest.NewUnstartedServer(mux)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	ts.Defer(server.Close)
	ts.Defer(plain.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ts.Check(os.WriteFile(filepath.Join(ts.MkAbs("."), "authority.pem"), authority, 0o644))
	ts.Setenv("URL", server.URL)
}

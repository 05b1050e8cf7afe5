// Package hostfs carries out the file operations that clients of the exec server ask for,
// each a tool by the name of its method. Input and output are JSON objects; content that is
// written is not in the input, but what the call reads first.
//
//	fs/readFile         {"path":"/a"}                           {"dataBase64":"…"}
//	fs/writeFile        {"path":"/a"}                           {}
//	fs/createDirectory  {"path":"/a","recursive":true}          {}
//	fs/getMetadata      {"path":"/a"}                           {"isDirectory":false,"isFile":true,"isSymlink":false,"size":1,"createdAtMs":0,"modifiedAtMs":0}
//	fs/readDirectory    {"path":"/a"}                           {"entries":[{"fileName":"b","isDirectory":false,"isFile":true}]}
//	fs/remove           {"path":"/a","recursive":true,"force":true}               {}
//	fs/copy             {"sourcePath":"/a","destinationPath":"/b","recursive":false}  {}
//	fs/canonicalize     {"path":"/a"}                           {"path":"/a"}
//	fs/walk             {"path":"/a","options":{"maxDepth":1,"maxDirectories":1,"maxEntries":1,"followDirectorySymlinks":false,"pruneHiddenDirectories":false}}
//	                    {"entries":[{"path":"/a/b","kind":"file"}],"errors":[{"path":"/a/c","message":"…"}],"truncated":false}
//	fs/open             {"path":"/a","mode":"read"}             {"handle":1}
//	fs/readBlock        {"handle":1,"offset":0,"len":1}         {"chunk":"…","eof":true}
//	fs/writeBlock       {"handle":1,"offset":0}                 {}
//	fs/close            {"handle":1}                            {}
//	fs/watchMissing     {"missing":["/a"],"present":"/b"}       {}
//
// Members of an input that are not shown are passed over, and null is as good as absent;
// what is shown for recursive, force and mode is the default, but for fs/copy, which has to
// have it. Paths are written in either form of package fileuri, and answered in the same.
//
// fs/watchMissing is a session, which ends when one of the missing appears or what is present
// changes. If there is nothing to wait for it has ended when it is opened.
//
// A path is led to its end once, by the kernel, and everything after that is done with what
// was found there: nothing that is renamed meanwhile leads an operation elsewhere. In a mode
// that confines files each step is held as package confined says.
package hostfs

import (
	"context"
	"fmt"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/core"
	"github.com/durward/durward/internal/sandbox/confined"
)

// Name is what tools of this engine call it.
const Name = "hostfs"

// MaxFileBytes is the size of the largest file that is read as a whole.
const MaxFileBytes = 512 << 20

// MaxBlockBytes is the largest length of a block.
const MaxBlockBytes = 1 << 20

// MaxHandles is how many files are open by handles at once.
const MaxHandles = 4096

// A Spec is what a tool of this engine holds.
type Spec struct {
	// Does is what the tool does.
	Does Work
}

// Work is what a tool does.
type Work int

// What there is to be done. The zero value does nothing, and is refused.
const (
	_ Work = iota
	ReadsFile
	WritesFile
	CreatesDirectory
	GetsMetadata
	ReadsDirectory
	Removes
	Copies
	Canonicalizes
	Walks
	Opens
	ReadsBlock
	WritesBlock
	Closes
	WatchesMissing
)

// Tools lists the tools, one for each method.
func Tools() []durward.Tool {
	looks, changes := durward.Effect{ReadOnly: true, Idempotent: true}, durward.Effect{Destructive: true, Idempotent: true}
	var tools []durward.Tool
	for _, t := range []struct {
		method durward.ToolID
		does   Work
		effect durward.Effect
	}{
		{"fs/readFile", ReadsFile, looks},
		{"fs/writeFile", WritesFile, changes},
		{"fs/createDirectory", CreatesDirectory, durward.Effect{Idempotent: true}},
		{"fs/getMetadata", GetsMetadata, looks},
		{"fs/readDirectory", ReadsDirectory, looks},
		{"fs/remove", Removes, changes},
		{"fs/copy", Copies, changes},
		{"fs/canonicalize", Canonicalizes, looks},
		{"fs/walk", Walks, looks},
		{"fs/open", Opens, durward.Effect{Destructive: true}},
		{"fs/readBlock", ReadsBlock, looks},
		{"fs/writeBlock", WritesBlock, changes},
		{"fs/close", Closes, durward.Effect{Idempotent: true}},
		{"fs/watchMissing", WatchesMissing, looks},
	} {
		tools = append(tools, durward.Tool{ID: t.method, Effect: t.effect, Engine: Name, Spec: Spec{Does: t.does}})
	}
	return tools
}

// An Engine carries out file operations. It is safe for concurrent use.
type Engine struct {
	keeper  *confined.Keeper
	handles handles
}

// New gives an engine whose work is confined by the keeper, which stays its owner's to
// close. Close the engine after use.
func New(keeper *confined.Keeper) *Engine { return &Engine{keeper: keeper} }

// Close closes all files that are open by handles. No other is opened then.
func (e *Engine) Close() error { return e.handles.close() }

// Enforces lists what holds the work with files: the path sets of the grant by the kernel,
// whatever level it names, and its limits. For the network and for variables it has no use.
func (e *Engine) Enforces() []durward.GrantField {
	return []durward.GrantField{durward.FieldLevel, durward.FieldFiles, durward.FieldNetwork, durward.FieldEnv, durward.FieldLimits}
}

// Prepare reads the input, finds what it names and judges it. It opens nothing but places.
func (e *Engine) Prepare(ctx context.Context, t durward.Tool, c durward.Call, g durward.Grant) (core.Prepared, error) {
	spec, ok := t.Spec.(Spec)
	if !ok {
		return nil, fmt.Errorf("tool %q is none of files", t.ID)
	}
	r := &request{engine: e, op: string(t.ID), call: c, grant: g}
	p, err := r.prepare(ctx, spec.Does)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// A request is a call on its way to being prepared.
type request struct {
	engine *Engine
	op     string
	call   durward.Call
	grant  durward.Grant
	hold   *confined.Hold
}

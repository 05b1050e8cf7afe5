package execclient

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/durward/durward/execserver/protocol"
)

// wholeFile is the largest file that is written by one message.
const wholeFile = 8 << 20

// Files are those of the server's machine, as they are seen through a sandbox object.
// Paths are absolute, or file: URIs. What is not there is fs.ErrNotExist to errors.Is.
type Files struct {
	c       *Client
	sandbox json.RawMessage
}

// Files gives the files. The sandbox object confines what is done with them; nil for
// none.
func (c *Client) Files(sandbox json.RawMessage) Files { return Files{c, sandbox} }

// ReadFile reads a whole file.
func (f Files) ReadFile(ctx context.Context, path string) ([]byte, error) {
	for {
		data, err := f.readFile(ctx, path)
		if !errors.Is(err, ErrInterrupted) {
			return data, err
		}
	}
}

func (f Files) readFile(ctx context.Context, path string) ([]byte, error) {
	r, err := f.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// readWhole reads a file in one message.
func (f Files) readWhole(ctx context.Context, path string) ([]byte, error) {
	r, err := call[protocol.ReadFileResult](ctx, f.c, again, protocol.FSReadFile, f.at(path))
	return r.DataBase64, err
}

// WriteFile makes or replaces a file. It is not atomic: a file that is larger than 8 MiB
// is written in blocks, which needs the capability fileWriteStreaming.
func (f Files) WriteFile(ctx context.Context, path string, data []byte) error {
	if len(data) > wholeFile {
		return f.writeBlocks(ctx, path, data)
	}
	p := protocol.WriteFileParams{Path: path, DataBase64: data, Sandbox: f.sandbox}
	_, err := call[protocol.Empty](ctx, f.c, once, protocol.FSWriteFile, p)
	return err
}

func (f Files) writeBlocks(ctx context.Context, path string, data []byte) error {
	w, err := f.Create(ctx, path)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return errors.Join(err, w.Close())
}

// CreateDirectory makes a directory; with recursive also those above it, and it may be
// there already.
func (f Files) CreateDirectory(ctx context.Context, path string, recursive bool) error {
	p := protocol.CreateDirectoryParams{Path: path, Recursive: &recursive, Sandbox: f.sandbox}
	_, err := call[protocol.Empty](ctx, f.c, once, protocol.FSCreateDirectory, p)
	return err
}

// Metadata tells what a path leads to.
func (f Files) Metadata(ctx context.Context, path string) (protocol.Metadata, error) {
	return call[protocol.Metadata](ctx, f.c, again, protocol.FSGetMetadata, f.at(path))
}

// ReadDirectory lists a directory, in no order.
func (f Files) ReadDirectory(ctx context.Context, path string) ([]protocol.DirectoryEntry, error) {
	r, err := call[protocol.ReadDirectoryResult](ctx, f.c, again, protocol.FSReadDirectory, f.at(path))
	return r.Entries, err
}

// Remove removes a file, a link or a directory; with recursive a directory and what is
// in it. With force nothing need be there.
func (f Files) Remove(ctx context.Context, path string, recursive, force bool) error {
	p := protocol.RemoveParams{Path: path, Recursive: &recursive, Force: &force, Sandbox: f.sandbox}
	_, err := call[protocol.Empty](ctx, f.c, once, protocol.FSRemove, p)
	return err
}

// Copy copies a file; with recursive a directory, too.
func (f Files) Copy(ctx context.Context, from, to string, recursive bool) error {
	p := protocol.CopyParams{SourcePath: from, DestinationPath: to, Recursive: recursive, Sandbox: f.sandbox}
	_, err := call[protocol.Empty](ctx, f.c, once, protocol.FSCopy, p)
	return err
}

// Canonicalize gives the path that a path leads to, without links.
func (f Files) Canonicalize(ctx context.Context, path string) (string, error) {
	r, err := call[protocol.CanonicalizeResult](ctx, f.c, again, protocol.FSCanonicalize, f.at(path))
	return r.Path, err
}

// Walk lists what is below a directory.
func (f Files) Walk(ctx context.Context, path string, o protocol.WalkOptions) (protocol.WalkResult, error) {
	p := protocol.WalkParams{Path: path, Options: o, Sandbox: f.sandbox}
	return call[protocol.WalkResult](ctx, f.c, again, protocol.FSWalk, p)
}

// WatchMissing gives a channel that is closed when one of the missing paths appears or
// the present one changes. It is a hint, and can come for nothing: it does when the
// connection is lost. It needs the capability fsWatchMissing; where the server cannot
// watch, the error is errors.ErrUnsupported.
func (f Files) WatchMissing(ctx context.Context, missing []string, present string) (<-chan struct{}, error) {
	id := f.c.ids.Add(1)
	fired := f.c.watch(id)
	p := protocol.WatchMissingParams{WatchID: id, Missing: missing, Present: present, Sandbox: f.sandbox}
	r, err := call[protocol.WatchMissingResult](ctx, f.c, once, protocol.FSWatchMissing, p)
	if err == nil && !r.Watching {
		err = errors.ErrUnsupported
	}
	if err != nil {
		f.c.fire(id)
		return nil, err
	}
	return fired, nil
}

func (f Files) at(path string) protocol.PathParams {
	return protocol.PathParams{Path: path, Sandbox: f.sandbox}
}

func (c *Client) watch(id uint64) <-chan struct{} {
	fired := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches[id] = fired
	return fired
}

func (c *Client) fire(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w, there := c.watches[id]; there {
		close(w)
		delete(c.watches, id)
	}
}

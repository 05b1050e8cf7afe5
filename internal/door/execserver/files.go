package execserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/durward/durward"
	"github.com/durward/durward/execserver/protocol"
	"github.com/durward/durward/internal/door/execserver/object"
	"github.com/durward/durward/internal/fileuri"
	"github.com/durward/durward/internal/jsonx"
)

// A fileCall is what a method about files has for the door; the rest of its params is the
// engine's.
type fileCall struct {
	paths   []string
	sandbox json.RawMessage
	content []byte // of a file, where it is to be written
}

func fileHandler(method string) handler {
	switch method {
	case protocol.FSReadFile, protocol.FSGetMetadata, protocol.FSReadDirectory, protocol.FSCanonicalize:
		return onFiles(func(p protocol.PathParams) fileCall { return fileCall{paths: []string{p.Path}, sandbox: p.Sandbox} })
	case protocol.FSWriteFile:
		return onFiles(func(p protocol.WriteFileParams) fileCall {
			return fileCall{paths: []string{p.Path}, sandbox: p.Sandbox, content: nonNil(p.DataBase64)}
		})
	case protocol.FSCreateDirectory:
		return onFiles(func(p protocol.CreateDirectoryParams) fileCall {
			return fileCall{paths: []string{p.Path}, sandbox: p.Sandbox}
		})
	case protocol.FSRemove:
		return onFiles(func(p protocol.RemoveParams) fileCall { return fileCall{paths: []string{p.Path}, sandbox: p.Sandbox} })
	case protocol.FSCopy:
		return onFiles(func(p protocol.CopyParams) fileCall {
			return fileCall{paths: []string{p.SourcePath, p.DestinationPath}, sandbox: p.Sandbox}
		})
	case protocol.FSWalk:
		return onFiles(func(p protocol.WalkParams) fileCall { return fileCall{paths: []string{p.Path}, sandbox: p.Sandbox} })
	}
	return handleHandler(method)
}

// handleHandler gives what does the methods about files that stay open.
func handleHandler(method string) handler {
	switch method {
	case protocol.FSOpen:
		return checked(func(p protocol.OpenParams) error {
			return cmp.Or(checkPaths(p.Path), short(p.HandleID), checkSandbox(p.Sandbox))
		}, (*conn).openFile)
	case protocol.FSReadBlock:
		return later((*conn).readBlock)
	case protocol.FSWriteBlock:
		return later((*conn).writeBlock)
	case protocol.FSClose:
		return later((*conn).closeFile)
	case protocol.FSWatchMissing:
		return checked(func(p protocol.WatchMissingParams) error {
			return cmp.Or(checkPaths(append(p.Missing, p.Present)...), checkSandbox(p.Sandbox))
		}, (*conn).watchMissing)
	}
	return nil
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// onFiles has a method carried out by its engine, whose output is the answer.
func onFiles[P any](of func(P) fileCall) handler {
	check := func(p P) error {
		f := of(p)
		return cmp.Or(checkPaths(f.paths...), checkSandbox(f.sandbox))
	}
	return checked(check, func(c *conn, r request, p P) {
		f := of(p)
		call, err := c.fileCall(r, f)
		if err != nil {
			c.answer(r, nil, err)
			return
		}
		places := c.slots
		if r.Method == protocol.FSReadFile {
			places = c.whole
		}
		c.apart(r, places, func(ctx context.Context) (json.RawMessage, error) {
			result, err := c.server.Runtime.Do(ctx, call)
			return result.Output, err
		})
	})
}

func checkPaths(paths ...string) error {
	for _, path := range paths {
		if _, _, err := fileuri.Parse(path); err != nil {
			return err
		}
	}
	return nil
}

// fileCall gives the call of a method about files.
func (c *conn) fileCall(r request, f fileCall) (durward.Call, error) {
	call := c.call(r)
	call.Input, call.Stdin = jsonx.Without(r.Params, "sandbox", "dataBase64"), f.content
	if len(f.paths) > 0 {
		call.Path, _, _ = fileuri.Parse(f.paths[0]) // was checked
	}
	var err error
	call.Ask.Confinement, err = object.Parse(f.sandbox, c.words("", ""))
	return call, err
}

// openFile opens a file that stays open until it is closed or the connection ends. Its name is
// taken at once.
func (c *conn) openFile(r request, p protocol.OpenParams) {
	h, err := c.handles.reserve(p.HandleID)
	if err != nil {
		c.answer(r, nil, err)
		return
	}
	call, err := c.fileCall(r, fileCall{paths: []string{p.Path}, sandbox: p.Sandbox})
	c.beside(r, func(ctx context.Context) (json.RawMessage, error) {
		defer close(h.opened)
		if err == nil {
			h.number, err = c.open(ctx, call)
		}
		if err != nil {
			h.failed = true
			c.handles.remove(p.HandleID)
			return nil, err
		}
		return protocol.Encode(protocol.OpenResult{HandleID: p.HandleID})
	})
}

// open gives the number that the engine has for a file.
func (c *conn) open(ctx context.Context, call durward.Call) (uint64, error) {
	result, err := c.server.Runtime.Do(ctx, call)
	if err != nil {
		return 0, err
	}
	var output struct {
		Handle uint64 `json:"handle"`
	}
	return output.Handle, json.Unmarshal(result.Output, &output)
}

// opened waits for a file by its name.
func (c *conn) opened(ctx context.Context, name string) (*handle, error) {
	h, err := c.handles.find(name)
	if err != nil {
		return nil, err
	}
	select {
	case <-h.opened:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if h.failed {
		return nil, unknownHandle(name)
	}
	return h, nil
}

func (c *conn) readBlock(r request, p protocol.ReadBlockParams) {
	c.onHandle(r, p.HandleID, nil, func(h *handle) json.RawMessage {
		return fmt.Appendf(nil, `{"handle":%d,"offset":%d,"len":%d}`, h.number, p.Offset, p.Len)
	})
}

func (c *conn) writeBlock(r request, p protocol.WriteBlockParams) {
	c.onHandle(r, p.HandleID, nonNil(p.Chunk), func(h *handle) json.RawMessage {
		return fmt.Appendf(nil, `{"handle":%d,"offset":%d}`, h.number, p.Offset)
	})
}

// onHandle carries out a call on a file that is open.
func (c *conn) onHandle(r request, name string, content []byte, input func(*handle) json.RawMessage) {
	call := c.call(r)
	c.beside(r, func(ctx context.Context) (json.RawMessage, error) {
		h, err := c.opened(ctx, name)
		if err != nil {
			return nil, err
		}
		call.Input, call.Stdin = input(h), content
		result, err := c.server.Runtime.Do(ctx, call)
		return result.Output, err
	})
}

// closeFile closes a file. Its name is free at once, and an unknown one is fine.
func (c *conn) closeFile(r request, p protocol.CloseParams) {
	h := c.handles.remove(p.HandleID)
	if h == nil {
		c.done(r, nil)
		return
	}
	call := c.call(r)
	c.beside(r, func(context.Context) (json.RawMessage, error) {
		return noResult, c.close(call, h)
	})
}

// close closes a file, also once the connection has ended.
func (c *conn) close(call durward.Call, h *handle) error {
	<-h.opened
	if h.failed {
		return nil
	}
	call.Input = fmt.Appendf(nil, `{"handle":%d}`, h.number)
	_, err := c.server.Runtime.Do(context.WithoutCancel(c.ctx), call)
	return err
}

// closeHandles closes what the client has left open.
func (c *conn) closeHandles() {
	for _, h := range c.handles.removeAll() {
		call := c.call(request{})
		call.Tool = protocol.FSClose
		if err := c.close(call, h); err != nil {
			c.server.Logger.Error("close", "door", Name, "error", err)
		}
	}
}

// watchMissing tells once when what is missing appears, or what is there changes.
func (c *conn) watchMissing(r request, p protocol.WatchMissingParams) {
	name := fmt.Sprint(p.WatchID)
	err := c.watches.take(name)
	if err != nil {
		c.answer(r, nil, err)
		return
	}
	call, err := c.fileCall(r, fileCall{paths: []string{p.Present}, sandbox: p.Sandbox})
	c.beside(r, func(ctx context.Context) (json.RawMessage, error) {
		if err != nil {
			c.watches.give(name)
			return nil, err
		}
		watching, err := c.watch(ctx, call, &watch{conn: c, id: p.WatchID, name: name})
		if err != nil {
			return nil, err
		}
		return protocol.Encode(protocol.WatchMissingResult{Watching: watching})
	})
}

// watch begins to watch, if there is something to wait for.
func (c *conn) watch(ctx context.Context, call durward.Call, w *watch) (watching bool, err error) {
	select {
	case c.server.watches <- struct{}{}:
	default:
		c.watches.give(w.name)
		return false, nil
	}
	session, err := c.server.Runtime.Open(ctx, call, w)
	if err != nil {
		w.end()
		return false, err
	}
	page, err := session.Read(ctx, 0, 0, 0)
	return err == nil && !page.Ended, nil
}

// A watch hears that something has changed by the end of the call.
type watch struct {
	quiet
	conn *conn
	id   uint64
	name string
}

// Ended tells the client, who may watch anew under the same name then.
func (w *watch) Ended(durward.Result) {
	w.end()
	if w.conn.ctx.Err() == nil {
		w.conn.send(notification(protocol.FSMissingChanged, protocol.MissingChangedParams{WatchID: w.id}))
	}
}

// end gives back what the watch has taken.
func (w *watch) end() {
	w.conn.watches.give(w.name)
	<-w.conn.server.watches
}

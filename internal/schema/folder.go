package schema

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/jsonx"
)

// A Folder is where schemas are that refer to each other. It is used by one goroutine; what it
// has compiled may be used by all.
type Folder struct {
	dir  string
	open func(path string) ([]byte, error)
	// builtin gives what is known by its URI, wherever the folder is.
	builtin func(uri string) ([]byte, bool)

	problems config.Problems
	// docs are those that were read, by their URI; nil for one that could not be.
	docs map[string]*document
	// resources are all schemas with an id of their own, by that.
	resources map[string]*resource
	// pending are the documents that were not compiled as a whole.
	pending []*document
	rules   map[place]*rule
	order   []*rule // all of them, as they came
	bytes   int     // of all files
	// lengths are the ways that one value can be led from a rule, of those that were looked at.
	lengths map[*rule]int
}

// NewFolder makes a Folder of the directory dir, which stands in the places of mistakes. open
// gives a file by its slash-separated path relative to the directory, and lets no path lead
// out.
func NewFolder(dir string, open func(path string) ([]byte, error)) *Folder {
	return &Folder{
		dir: dir, open: open, builtin: metaschema, docs: map[string]*document{}, resources: map[string]*resource{}, rules: map[place]*rule{}, lengths: map[*rule]int{},
	}
}

// The bounds of a folder.
const (
	// MaxBytes is the size of the largest file, and maxAllBytes that of all together.
	MaxBytes    = 1 << 20
	maxAllBytes = 8 << 20
	maxFiles    = 256
	// maxRules bounds the schemas within all files.
	maxRules = 100_000
	maxDepth = 128
)

// A document is one file, or one of the schemas of schemas.
type document struct {
	uri   string
	file  string // as it is shown
	path  string // empty for what is built in
	draft draft
	tree  *tree
	// scopes has the resource that each node belongs to, for those that are known to be schemas.
	scopes []*resource
	// members finds those of large objects.
	members map[int32]map[string]int32
}

// A resource is a schema with an URI of its own, and what belongs to it.
type resource struct {
	doc     *document
	root    int32
	base    *url.URL
	anchors map[string]int32
	// dynamic are the anchors that can stand for those of the same name elsewhere.
	dynamic map[string]*rule
}

// A place is a node of a document.
type place struct {
	doc  *document
	node int32
}

// folderScheme is that of the URIs of files. It stands in no schema: whoever writes it in a
// reference names what is elsewhere.
const folderScheme = "folder"

// Compile reads the schema of a file with all that it refers to. The error is about the path;
// mistakes in files are found with Problems, and then the schema is of no use.
func (f *Folder) Compile(name string) (*Schema, error) {
	switch {
	case strings.Contains(name, "://"):
		return nil, errors.New("a URL is never fetched; name a file in the manifest's folder")
	case strings.HasPrefix(name, "/") || filepath.IsAbs(name):
		return nil, errors.New("the path is absolute; write it relative to the manifest's folder")
	case strings.Contains(name, `\`):
		return nil, errors.New("the path holds a backslash; write it with /")
	}
	clean := path.Clean(name)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return nil, errOutside
	}
	doc, err := f.file(clean)
	if doc == nil {
		return nil, err
	}
	return f.compile(doc), nil
}

// compile compiles everything that is in the files that are known by then, for nothing in them
// is to be found out later.
func (f *Folder) compile(doc *document) *Schema {
	s := &Schema{document: doc.tree.text, root: f.rule(doc, 0)}
	for len(f.pending) > 0 {
		doc := f.pending[0]
		f.pending = f.pending[1:]
		for n, in := range doc.scopes {
			if k := doc.tree.nodes[n].kind; in != nil && (k == object || k == boolean) {
				f.rule(doc, int32(n))
			}
		}
	}
	for _, r := range f.resources {
		for name := range r.dynamic {
			r.dynamic[name] = f.rule(r.doc, r.anchors[name])
		}
	}
	f.refuseLoops()
	return s
}

var errOutside = errors.New("it leads out of the manifest's folder")

// Problems lists the mistakes that were found so far.
func (f *Folder) Problems() config.Problems { return config.ProblemsOf(f.problems.Err()) }

// A File is one that was read.
type File struct {
	Path string
	Text []byte
}

// Files lists what was read, sorted by path.
func (f *Folder) Files() []File {
	var files []File
	for _, uri := range slices.Sorted(maps.Keys(f.docs)) {
		if d := f.docs[uri]; d != nil && d.path != "" {
			files = append(files, File{d.path, d.tree.text})
		}
	}
	return files
}

// file gives the document of a clean path. It is nil without an error where its own mistakes
// keep it from being read.
func (f *Folder) file(name string) (*document, error) {
	uri := (&url.URL{Scheme: folderScheme, Path: "/" + name}).String()
	if doc, ok := f.docs[uri]; ok {
		return doc, nil
	}
	if len(f.docs) >= maxFiles {
		return nil, fmt.Errorf("it is one file more than the %d that may refer to each other", maxFiles)
	}
	data, err := f.open(name)
	if err != nil {
		return nil, err
	}
	if f.bytes += len(data); f.bytes > maxAllBytes {
		return nil, fmt.Errorf("all files together are over %d bytes", maxAllBytes)
	}
	doc := &document{uri: uri, file: filepath.Join(f.dir, filepath.FromSlash(name)), path: name}
	f.docs[uri] = nil
	if err := jsonx.Check(data, jsonx.Limits{Bytes: MaxBytes, Depth: maxDepth}); err != nil {
		f.notJSON(doc, err)
		return nil, nil
	}
	doc.tree = parse(data)
	if !f.chooseDraft(doc) {
		return nil, nil
	}
	for _, v := range schemaOf(doc.draft).violations(doc.tree) {
		f.wrong(doc, v.node, "%s", v.message)
	}
	f.add(doc)
	return doc, nil
}

func (f *Folder) notJSON(doc *document, err error) {
	where := durward.Position{File: doc.file}
	var syntax *jsonx.SyntaxError
	if errors.As(err, &syntax) {
		where.Line = syntax.Line
		err = errors.New(syntax.Problem)
	} else if e := durward.AsError(err); e != nil && e.Err != nil {
		err = e.Err // what was being done is said
	}
	f.problems.Add(where, "not strict JSON: %s", err)
}

// known gives a schema of schemas, or nil.
func (f *Folder) known(uri string) *document {
	if doc, ok := f.docs[uri]; ok {
		return doc
	}
	data, ok := f.builtin(uri)
	if !ok {
		return nil
	}
	doc := &document{uri: uri, file: uri, tree: parse(data)}
	f.chooseDraft(doc)
	f.add(doc)
	return doc
}

func (f *Folder) chooseDraft(doc *document) bool {
	at := doc.tree.member(0, "$schema")
	if at == none || doc.tree.nodes[at].kind != text {
		return true
	}
	var ok bool
	if doc.draft, ok = draftOf(string(doc.tree.says(at))); !ok {
		f.wrong(doc, at, "%.64q is neither JSON Schema 2020-12 (%s) nor draft-07 (%s#)", doc.tree.says(at), draft2020.uri(), draft07.uri())
	}
	return ok
}

// add makes a document known with all that is within it.
func (f *Folder) add(doc *document) {
	f.docs[doc.uri] = doc
	doc.scopes = make([]*resource, len(doc.tree.nodes))
	base, _ := url.Parse(doc.uri)
	f.index(doc, 0, f.resource(doc, 0, base))
	f.pending = append(f.pending, doc)
}

// wrong notes a mistake at a node.
func (f *Folder) wrong(doc *document, n int32, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if at := doc.tree.pointer(n); at != "" {
		message = at + ": " + message
	}
	f.problems.Add(durward.Position{File: doc.file, Line: doc.tree.line(n)}, "%s", message)
}

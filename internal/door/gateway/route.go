package gateway

import (
	"errors"
	"net/http"
	"strings"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/httpedge"
)

// Paths of the door.
const (
	pathTools   = "/v1/tools"
	pathDomain  = "/v1/domain"
	pathHealth  = "/healthz"
	pathReady   = "/readyz"
	pathMetrics = "/metrics"

	runSuffix = ":run"
)

// answer finds what a request is for.
func (d *Door) answer(w http.ResponseWriter, r *http.Request) {
	if err := d.route(w, r); err != nil {
		d.writeError(w, r, err)
	}
}

func (d *Door) route(w http.ResponseWriter, r *http.Request) error {
	path, err := httpedge.DecodePath(r)
	if err != nil {
		return err
	}
	switch u := runOf(r); {
	case u.isRun:
		return d.run(w, r)
	case strings.HasPrefix(path, pathTools+"/"):
		return d.read(w, r, d.showTool)
	}
	for _, page := range []struct {
		path string
		show func(http.ResponseWriter, *http.Request) error
	}{
		{pathTools, d.showTools}, {pathDomain, d.showDomain}, {pathHealth, d.showHealth}, {pathReady, d.showReady}, {pathMetrics, d.showMetrics},
	} {
		if path == page.path {
			return d.read(w, r, page.show)
		}
	}
	return &durward.Error{Reason: durward.FileNotFound, Op: "route", Err: errors.New("nothing is served there")}
}

// longestTool is how much of a path that names no tool is kept of it: tools have shorter ones.
const longestTool = 256

// toolOf gives the tool that the path of a request names, and whether it is to be run.
func toolOf(r *http.Request) (tool durward.ToolID, isRun bool) {
	path, err := httpedge.DecodePath(r)
	below, isTool := strings.CutPrefix(path, pathTools+"/")
	if err != nil || !isTool {
		return "", false
	}
	below, isRun = strings.CutSuffix(below, runSuffix)
	if len(below) > longestTool {
		below = below[:longestTool] + "…"
	}
	return durward.ToolID(strings.ToValidUTF8(below, "\ufffd")), isRun
}

// read answers a GET.
func (d *Door) read(w http.ResponseWriter, r *http.Request, show func(http.ResponseWriter, *http.Request) error) error {
	if err := httpedge.NeedMethod(w, r, http.MethodGet, http.MethodHead); err != nil {
		return err
	}
	return show(w, r)
}

// loaded refuses where there is no domain.
func (d *Door) loaded() error {
	if d.Broken == nil {
		return nil
	}
	return &durward.Error{Reason: durward.DomainNotLoaded, Op: "load", Err: d.Broken}
}

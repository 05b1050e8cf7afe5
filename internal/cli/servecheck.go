package cli

import (
	"context"
	"fmt"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/safetext"
	"github.com/durward/durward/site"
)

// siteCheckData is what was found out about a site.
type siteCheckData struct {
	// Pages is how many of its files have tools.
	Pages    int           `json:"pages"`
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Findings []siteFinding `json:"findings"`
}

type siteFinding struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

// checkPages says what is wrong with pages, one thing a line. Nothing is started.
func (x *serving) checkPages(ctx context.Context, c site.Config) error {
	pages, found, err := site.Check(ctx, c)
	if err != nil {
		return x.blameHome(err)
	}
	data := siteCheckData{Pages: pages, Findings: []siteFinding{}}
	for _, f := range found {
		severity := "warning"
		if f.Fatal {
			severity = "error"
			data.Errors++
		} else {
			data.Warnings++
		}
		data.Findings = append(data.Findings, siteFinding{
			safetext.Line(f.Where.File), f.Where.Line, f.Where.Column, severity, safetext.Line(f.Message),
		})
	}
	if x.json {
		return x.printCheck(data)
	}
	for _, f := range found {
		fmt.Fprintln(x.stdout, safetext.Line(f.String())) // its loss is told at the end
	}
	x.note("%s with tools: %s, %s", plural(data.Pages, "page"), plural(data.Errors, "error"), plural(data.Warnings, "warning"))
	if data.Errors > 0 {
		return exitStatus(1)
	}
	return nil
}

func (x *serving) printCheck(data siteCheckData) error {
	if data.Errors == 0 {
		return x.print(data)
	}
	err := fmt.Errorf("%s in pages, listed as findings", plural(data.Errors, "error"))
	x.printFailure(failureOf(&durward.Error{Reason: durward.BadFrontmatter, Op: "check", Hint: "mend what is named", Err: err}, ""), data)
	return exitStatus(1)
}

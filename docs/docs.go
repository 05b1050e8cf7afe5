// Package docs holds those of these pages that the program shows by itself.
package docs

import _ "embed" // for Errors

// Errors is errors.md: the words on every error code, a section each.
//
//go:embed errors.md
var Errors string

//go:build linux

// Command bench measures what durward costs and prints each figure as a ratio to a
// floor that is measured in the same run, the two taking turns.
//
//	go run ./bench [-rounds N] [-quick]
//
// The machine's noise is in both sides of a ratio. The figures are printed with their
// bars and not judged: a program that fails on a slow afternoon is no use.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/durward/durward/internal/sandbox"
)

// A row is one line of the table.
type row struct {
	what, floor, figure, bar string
}

var table []row

// parts are what is measured, in the order of the table.
var parts = []struct {
	name    string
	measure func(rounds int, quick bool) error
}{{"spawns", spawns}, {"files", files}, {"audits", audits}, {"kills", kills}, {"memory", memory}, {"startup", startup}, {"egress", ways}, {"web", web}, {"mcp", mcp}, {"execserver", execServer}, {"gateway", gateway}, {"hub", hub}}

func main() {
	rounds := flag.Int("rounds", 300, "rounds of each interleaved loop")
	quick := flag.Bool("quick", false, "a tenth of everything, to see that it runs")
	only := flag.String("only", "", "measure this part alone: spawns, files, audits, kills, memory, startup, egress, web, mcp, execserver, gateway or hub")
	child := flag.String("child", "", "internal: run one measurement in this process")
	flag.Parse()
	if *child != "" {
		if err := runChild(*child); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *quick {
		*rounds = max(*rounds/10, 1)
	}
	for _, part := range parts {
		if *only != "" && *only != part.name {
			continue
		}
		if err := part.measure(*rounds, *quick); err != nil {
			printTable()
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
	}
	printTable()
	if err := sandbox.ProbeAll().Release(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func printTable() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tFLOOR\tFIGURE\tBAR")
	for _, r := range table {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.what, r.floor, r.figure, r.bar)
	}
	w.Flush()
}

func report(what, floor, figure, bar string) { table = append(table, row{what, floor, figure, bar}) }

// interleaved runs the functions in turns and gives the median time of each. The order is
// another one in each round: what one leaves to do behind it falls on no other alone. As
// many rounds before that are not counted: a machine that was idle is slow to begin with.
func interleaved(rounds int, funcs ...func() error) ([]time.Duration, error) {
	return settled(rounds, func() {}, funcs...)
}

// settled is the same, with something that is waited for before each of them and not
// counted.
func settled(rounds int, settle func(), funcs ...func() error) ([]time.Duration, error) {
	times := make([][]time.Duration, len(funcs))
	for round := range 2 * rounds {
		for _, i := range rand.Perm(len(funcs)) {
			settle()
			began := time.Now()
			if err := funcs[i](); err != nil {
				return nil, err
			}
			if round >= rounds {
				times[i] = append(times[i], time.Since(began))
			}
		}
	}
	medians := make([]time.Duration, len(funcs))
	for i, t := range times {
		medians[i] = median(t)
	}
	return medians, nil
}

func median(t []time.Duration) time.Duration {
	slices.Sort(t)
	return t[len(t)/2]
}

// reportStart is report for a start to which a part was added.
func reportStart(what string, floor, whole time.Duration, bar string) {
	report(what, fmt.Sprintf("%.2f ms", float64(floor)/1e6),
		fmt.Sprintf("%.2f ms = +%.2f ms", float64(whole)/1e6, float64(whole-floor)/1e6), bar)
}

func ratio(a, b time.Duration) string { return fmt.Sprintf("%.2f x", float64(a)/float64(b)) }

func micros(d time.Duration) string {
	return fmt.Sprintf("%.0f us", float64(d)/float64(time.Microsecond))
}

package config_test

import (
	"strings"
	"testing"

	"github.com/durward/durward/internal/config"
)

// The largest documents there can be must not take more than a moment.
func BenchmarkParseLargest(b *testing.B) {
	text := "[" + strings.Repeat("1,", config.MaxBytes/2-2) + "1]"
	for _, file := range []string{"a.json", "a.yaml"} {
		b.Run(file, func(b *testing.B) {
			for b.Loop() {
				if _, err := config.Parse(file, []byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

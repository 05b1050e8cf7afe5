package render_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/durward/durward/internal/door/site/render"
)

// People with weak eyes read text at a contrast of 4.5 and see lines and focus at 3.
func TestContrast(t *testing.T) {
	sheet := page(t, render.Document{})
	schemes := regexp.MustCompile(`:root \{[^}]*--text[^}]*\}`).FindAllString(sheet, -1)
	if len(schemes) != 2 {
		t.Fatalf("%d colour schemes, not light and dark", len(schemes))
	}
	for _, scheme := range schemes {
		colour := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z]+): #([0-9a-f]+)`).FindAllStringSubmatch(scheme, -1) {
			colour[m[1]] = luminance(t, m[2])
		}
		for _, pair := range []struct {
			text string
			min  float64
		}{{"text", 7}, {"soft", 4.5}, {"link", 4.5}, {"line", 3}} {
			for _, back := range []string{"back", "tint"} {
				if got := contrast(colour[pair.text], colour[back]); got < pair.min {
					t.Errorf("%s on %s has a contrast of %.1f in %s", pair.text, back, got, scheme)
				}
			}
		}
	}
}

func contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }

func luminance(t *testing.T, hex string) float64 {
	if len(hex) == 3 {
		hex = strings.Join([]string{hex[:1], hex[:1], hex[1:2], hex[1:2], hex[2:], hex[2:]}, "")
	}
	rgb, err := strconv.ParseUint(hex, 16, 24)
	if err != nil {
		t.Fatal(err)
	}
	part := func(shift int) float64 {
		c := float64(rgb>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}

func TestNothingIsFetchedFromElsewhere(t *testing.T) {
	sheet := page(t, render.Document{})
	for _, fetches := range []string{"url(", "@import", "@font-face", "image-set("} {
		if strings.Contains(sheet, fetches) {
			t.Errorf("the style has %s", fetches)
		}
	}
}

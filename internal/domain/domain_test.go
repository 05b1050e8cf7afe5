package domain

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/durward/durward"
	"github.com/durward/durward/internal/config"
	"github.com/durward/durward/internal/netguard"
)

// What a manifest and policies look like, with the values that everybody knows.
const (
	sampleManifest = `domain_id: "example_domain"
version: "0.1"
tools:
  - tool_id: "firecrawl.crawl"
    display_name: "Firecrawl Crawl"
    description: "Crawl a URL and return extracted content using Firecrawl API"
    transport:
      type: "http"
      base_url: "http://tool-firecrawl:8080"
      endpoint: "/run"
    timeout_sec: 60
    input_schema_ref: "schemas/firecrawl_crawl_input.json"
    output_schema_ref: "schemas/firecrawl_crawl_output.json"
    egress_allowlist:
      - "api.firecrawl.dev:443"
`
	samplePolicies = `concurrency:
  max_inflight: 8
  per_tool_max_inflight:
    firecrawl.crawl: 2

timeouts:
  default_tool_timeout_sec: 60

network:
  default_egress_policy: "deny"
  # tool-specific allowlist comes from manifest.egress_allowlist

logging:
  level: "INFO"
  include_request_body: false
`
)

// join reads both documents. It gives all problems, one a line, without the names of files.
func join(manifest, policies, id string) (*Domain, []string) {
	m, found := ParseManifest("m", []byte(manifest))
	p, more := ParsePolicies("p", []byte(policies))
	d, last := Join(m, p, id)
	var lines []string
	for _, problems := range []config.Problems{found, more, last} {
		for _, one := range problems {
			lines = append(lines, one.Error())
		}
	}
	return d, lines
}

func mustJoin(t testing.TB, manifest, policies string) *Domain {
	t.Helper()
	d, wrong := join(manifest, policies, "")
	if wrong != nil {
		t.Fatalf("problems: %s", strings.Join(wrong, "\n"))
	}
	return d
}

func allow(t testing.TB, entries ...string) netguard.Allowlist {
	t.Helper()
	list, err := netguard.ParseAllow(entries)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var comparing = cmp.Options{cmp.AllowUnexported(netguard.Allowlist{})}

func TestTheSampleHasItsValues(t *testing.T) {
	got := mustJoin(t, sampleManifest, samplePolicies)
	want := &Domain{
		ID: "example_domain", Version: "0.1",
		Tools: []*Tool{{
			ID: "firecrawl.crawl", DomainID: "example_domain", DisplayName: "Firecrawl Crawl", Description: "Crawl a URL and return extracted content using Firecrawl API",
			Kind: "service_worker", Capabilities: []string{},
			Transport: Transport{BaseURL: "http://tool-firecrawl:8080", Endpoint: "/run", MaxAttempts: 1},
			Timeout:   60 * time.Second, TimeoutRule: "tools[0].timeout_sec", TimeoutWhere: durward.Position{File: "m", Line: 11},
			InputRef: "schemas/firecrawl_crawl_input.json", OutputRef: "schemas/firecrawl_crawl_output.json",
			Egress: allow(t, "api.firecrawl.dev:443"), EgressWhere: durward.Position{File: "m", Line: 15},
			MaxInflight: 2, Place: "tools[0]", Where: durward.Position{File: "m", Line: 4},
		}},
		Policies: Policies{
			MaxInflight: 8, MaxQueue: 64, QueueTimeout: 30 * time.Second, DefaultTimeout: 60 * time.Second, DenyEgress: true,
			LogLevel: "INFO", MaxRequestBytes: 1_048_576, MaxResponseBytes: 16_777_216,
		},
	}
	if diff := cmp.Diff(want, got, comparing); diff != "" {
		t.Error(diff)
	}
}

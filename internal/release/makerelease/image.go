package main

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The types below are those of the OCI's image specification, as far as one layer needs them.
type (
	descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Platform    *platform         `json:"platform,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	platform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	imageIndex struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Manifests     []descriptor `json:"manifests"`
	}
	imageManifest struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Config        descriptor   `json:"config"`
		Layers        []descriptor `json:"layers"`
	}
	imageConfig struct {
		Created string `json:"created"`
		platform
		Config struct {
			User       string            `json:"User"`
			Env        []string          `json:"Env"`
			Entrypoint []string          `json:"Entrypoint"`
			WorkingDir string            `json:"WorkingDir"`
			Labels     map[string]string `json:"Labels"`
		} `json:"config"`
		RootFS struct {
			Type    string   `json:"type"`
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
		History []imageStep `json:"history"`
	}
	imageStep struct {
		Created   string `json:"created"`
		CreatedBy string `json:"created_by"`
	}
	// A savedImage is what `docker save` writes beside, for engines that know no other.
	savedImage struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
)

const imageTypes = "application/vnd.oci.image."

// image makes the image that a Dockerfile describes, without an engine: one layer, in a
// layout of the OCI's that `docker load`, `podman load` and skopeo read.
func image(s source, t target, program, dockerfile []byte) ([]byte, error) {
	r, err := parseDockerfile(string(dockerfile))
	if err != nil {
		return nil, err
	}
	files, err := r.files([]file{
		{name: "bin/durward", executable: true, body: program},
		{name: "bin/ca-certificates.crt", body: roots()},
		{name: "deploy/state", folder: true}, // but for .keep, which is there for git
	})
	if err != nil {
		return nil, err
	}
	layer, err := tarOf(withFolders(files), s.time, "")
	if err != nil {
		return nil, err
	}
	packed, err := zipped(layer)
	if err != nil {
		return nil, err
	}
	return layout(s, t, packed, r.config(s, t, "sha256:"+string(digestOf(layer))))
}

func (r recipe) config(s source, t target, layer string) imageConfig {
	c := imageConfig{Created: s.time.Format(time.RFC3339), platform: platform{t.arch, t.os}}
	c.Config.User, c.Config.Env, c.Config.Entrypoint, c.Config.WorkingDir = r.user, r.env, r.entrypoint, "/"
	c.Config.Labels = map[string]string{
		"org.opencontainers.image.title": "durward", "org.opencontainers.image.version": s.version,
		"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": homepage,
	}
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{layer}
	c.History = []imageStep{{c.Created, "deploy/Dockerfile"}}
	return c
}

// layout packs one layer with what describes it.
func layout(s source, t target, layer []byte, config imageConfig) ([]byte, error) {
	var blobs []file
	blob := func(kind string, body []byte) descriptor {
		sum := string(digestOf(body))
		blobs = append(blobs, file{name: "blobs/sha256/" + sum, body: body})
		return descriptor{MediaType: imageTypes + kind, Digest: "sha256:" + sum, Size: len(body)}
	}
	m := imageManifest{SchemaVersion: 2, MediaType: imageTypes + "manifest.v1+json"}
	m.Layers = []descriptor{blob("layer.v1.tar+gzip", layer)}
	m.Config = blob("config.v1+json", asJSON(config))
	whole := blob("manifest.v1+json", asJSON(m))
	whole.Platform = &platform{t.arch, t.os}
	whole.Annotations = map[string]string{"io.containerd.image.name": "docker.io/library/durward:" + s.version, "org.opencontainers.image.ref.name": s.version}
	files := append(blobs,
		file{name: "oci-layout", body: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		file{name: "index.json", body: asJSON(imageIndex{2, imageTypes + "index.v1+json", []descriptor{whole}})},
		file{name: "manifest.json", body: asJSON([]savedImage{{blobs[1].name, []string{"durward:" + s.version}, []string{blobs[0].name}}})},
	)
	return tarOf(withFolders(files), s.time, "")
}

// asJSON writes what can be written: the types above.
func asJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("%T: %v", v, err))
	}
	return text
}

// roots are the certificates that Mozilla has browsers trust, from a module and not from the
// machine, for each machine has others. Those that are trusted up to a day are left out, as
// a file of certificates cannot say that.
func roots() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // to memory
		}
	}
	return b.Bytes()
}

package oci

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/poise-sched/poise/host/poise"
)

// startRegistry runs Debian's docker-registry on a free loopback port, with the
// given addition to its configuration, and gives its host:port.
func startRegistry(t *testing.T, addition string) string {
	t.Helper()
	path, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("docker-registry: not installed (apt-get install docker-registry)")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := free.Addr().String()
	_ = free.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %q}\n%s", dir, host, addition)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "serve", config)
	log := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	for range 600 {
		resp, err := http.Get("http://" + host + "/v2/")
		if err == nil {
			_ = resp.Body.Close()
			return host
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("docker-registry ended: %v\n%s", err, log)
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal("docker-registry does not answer")
	return ""
}

func TestRegistry(t *testing.T) {
	host := startRegistry(t, "")
	tour(t, host+"/tenant-a/sample", Options{})
	_, _, err := Pull(t.Context(), host+"/tenant-b/sample:1.0.0", Options{})
	refused(t, err, poise.NotFound, host+"/tenant-b/sample:1.0.0")

	// HTTPS is the rule: plain HTTP on loopback only, or where it is asked for.
	no := false
	_, _, err = Pull(t.Context(), host+"/tenant-a/sample:1.0.0", Options{PlainHTTP: &no})
	refused(t, err, poise.Unavailable, "speaks plain HTTP, expected HTTPS")
}

// An image that is no plugin is refused by its type.
func TestRegistryOther(t *testing.T) {
	host := startRegistry(t, "")
	base := host + "/sample"
	a, _, err := pack(sample("1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	f := func(tag, artifactType, configType, layerType string, words ...string) {
		t.Helper()
		config, layer := newBlob(configType, a.parts[0].data), newBlob(layerType, a.parts[1].data)
		other, err := newArtifact(artifactType, config, layer, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := parseRef(base + ":" + tag)
		if err != nil {
			t.Fatal(err)
		}
		to, err := openRemote(r, Options{}, transport())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := write(t.Context(), to, r, other, nil, false); err != nil {
			t.Fatal(err)
		}
		_, _, err = Pull(t.Context(), base+":"+tag, Options{})
		refused(t, err, poise.Invalid, words...)
	}
	f("image", "", "application/vnd.oci.image.config.v1+json", ModuleType, "artifact type", "application/vnd.oci.image.config.v1+json", ArtifactType)
	f("chart", "application/vnd.cncf.helm.chart", ConfigType, ModuleType, "artifact type", "helm")
	f("config", ArtifactType, "application/json", ModuleType, "media type of the config", ConfigType)
	f("layer", ArtifactType, ConfigType, "application/vnd.oci.image.layer.v1.tar", "media type of the layer", ModuleType)
	f("signature", SignatureType, ConfigType, ModuleType, "artifact type", SignatureType)
}

// dockerConfig makes text the Docker config file.
func dockerConfig(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// auths is a Docker config file with one password.
func auths(host, user, password string) string {
	return fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}

func TestRegistryCredentials(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("pass:word"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(users, fmt.Appendf(nil, "ann:%s\n", hash), 0o600); err != nil {
		t.Fatal(err)
	}
	host := startRegistry(t, fmt.Sprintf("auth: {htpasswd: {realm: poise, path: %s}}\n", users))
	base := host + "/sample"
	login := Options{DockerConfig: true}

	dockerConfig(t, auths(host, "ann", "pass:word"))
	tour(t, base, login)
	_, _, err = Pull(t.Context(), base+":1.0.0", Options{})
	refused(t, err, poise.Denied, "docker login "+host)

	dockerConfig(t, auths(host, "ann", "other"))
	_, _, err = Pull(t.Context(), base+":1.0.0", login)
	refused(t, err, poise.Denied, "401", "docker login "+host)
	dockerConfig(t, auths("127.0.0.1:1", "ann", "pass:word"))
	_, _, err = Pull(t.Context(), base+":1.0.0", login)
	refused(t, err, poise.Denied, "docker login "+host)
	dockerConfig(t, "{")
	_, _, err = Pull(t.Context(), base+":1.0.0", login)
	refused(t, err, poise.Invalid, "Docker config file")
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // no such file: no credentials
	_, err = Push(t.Context(), base+":2", sample("2"), login)
	refused(t, err, poise.Denied, "docker login "+host)

	bin := t.TempDir()
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	helper := fmt.Sprintf("#!/bin/sh\nread server\n[ \"$1 $server\" = 'get %s' ] || exit 1\necho '{\"ServerURL\":\"%s\",\"Username\":\"ann\",\"Secret\":\"pass:word\"}'\n", host, host)
	if err := os.WriteFile(filepath.Join(bin, "docker-credential-poisetest"), []byte(helper), 0o700); err != nil {
		t.Fatal(err)
	}
	dockerConfig(t, `{"credsStore":"poisetest"}`)
	if _, _, err := Pull(t.Context(), base+":1.0.0", login); err != nil {
		t.Error(err)
	}
	dockerConfig(t, `{"credHelpers":{"`+host+`":"poisemissing"}}`)
	_, _, err = Pull(t.Context(), base+":1.0.0", login)
	refused(t, err, poise.Denied, "credentials of", "docker-credential-poisemissing")
}

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
)

// newEtcd is an etcd with its data in dir that serves clients at the address.
func newEtcd(dir, address string) (*process, error) {
	url := "http://" + address
	return newProcess("etcd", dir,
		"--data-dir="+filepath.Join(dir, "etcd"),
		"--listen-client-urls="+url,
		"--advertise-client-urls="+url,
		"--listen-peer-urls=http://127.0.0.1:0", // there are no peers
		"--logger=zap",
	)
}

// etcdReady asks an etcd whether it serves.
func etcdReady(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		return get(ctx, &http.Transport{}, "http://"+address+"/health", "")
	}
}

// get makes one request on a connection of its own and wants the status 200.
func get(ctx context.Context, t *http.Transport, url, token string) error {
	defer t.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ask %s: got %s", url, resp.Status)
	}
	return nil
}

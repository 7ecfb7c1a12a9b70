package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

// newAPIServer is a kube-apiserver at the address on top of an etcd. Of the
// default admission it leaves out what would need a controller-manager: service
// accounts are not made for a namespace, and a new node is not tainted until
// somebody finds it ready.
func newAPIServer(dir, address, etcd, tokens string, rbac bool) (*process, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("prepare kube-apiserver: %w", err)
	}
	key := filepath.Join(dir, "service-accounts.pem")
	if err := writeKey(key); err != nil {
		return nil, err
	}
	mode := "AlwaysAllow"
	if rbac {
		mode = "RBAC"
	}
	return newProcess("kube-apiserver", dir,
		"--etcd-servers=http://"+etcd,
		"--bind-address="+host,
		"--secure-port="+port,
		"--cert-dir="+certDir(dir), // it makes its own certificate there
		"--token-auth-file="+tokens,
		"--authorization-mode="+mode,
		"--service-account-issuer=https://poise.test",
		"--service-account-key-file="+key,
		"--service-account-signing-key-file="+key,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		"--endpoint-reconciler-type=none", // it would refuse a loopback address
		"--kubelet-preferred-address-types=InternalIP",
	)
}

func certDir(dir string) string { return filepath.Join(dir, "certificates") }

// authority reads the certificate that signs the API server's; it is there once
// the server has started for the first time.
func authority(dir string) ([]byte, error) {
	return os.ReadFile(filepath.Join(certDir(dir), "apiserver.crt"))
}

// writeKey makes a key for signing the tokens of service accounts.
func writeKey(file string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	return nil
}

// apiServerReady asks an API server whether it serves and has made the
// namespaces that every cluster has, which it does in the background.
func apiServerReady(dir, url, token string) func(context.Context) error {
	return func(ctx context.Context) error {
		ca, err := authority(dir)
		if err != nil {
			return err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(ca) {
			return errors.New("its certificate is not written yet")
		}
		for _, path := range []string{"/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-node-lease"} {
			t := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
			if err := get(ctx, t, url+path, token); err != nil {
				return err
			}
		}
		return nil
	}
}

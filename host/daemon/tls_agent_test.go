package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"path/filepath"
	"testing"
	"time"
)

// agent makes a certificate of that name which a daemon's own authority in tls
// has signed, as files in dir.
func agent(t *testing.T, dir, tls string) (cert, key string) {
	t.Helper()
	read := func(name string) []byte {
		block, _ := pem.Decode([]byte(mustRead(t, filepath.Join(tls, name))))
		return block.Bytes
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	signer, err := x509.ParseCertificate(read("ca.pem"))
	must(err)
	signerKey, err := x509.ParsePKCS8PrivateKey(read("ca-key.pem"))
	must(err)
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "agent"}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, signer, own.Public(), signerKey)
	must(err)
	private, err := x509.MarshalPKCS8PrivateKey(own)
	must(err)
	cert, key = filepath.Join(dir, "agent.pem"), filepath.Join(dir, "agent-key.pem")
	write(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	return cert, key
}

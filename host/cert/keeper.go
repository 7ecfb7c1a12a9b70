package cert

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/poise-sched/poise/host/poise"
)

const (
	// lookEvery is how often the files are read again.
	lookEvery = 2 * time.Second
	// warnBefore is how long before its end a certificate is warned of.
	warnBefore = 7 * 24 * time.Hour
	// maxFile is far more than a chain of certificates needs, in bytes.
	maxFile = 1 << 20
)

// Options say where the certificate is.
type Options struct {
	Cert, Key string // files in PEM; both empty = self-made in Dir
	Dir       string // made where it is missing
	Names     []string
	ClientCA  string // file in PEM of those who sign callers' certificates; "" = callers show none
	Log       *slog.Logger
	Now       func() time.Time
}

// Keeper has the pair that is served. It is safe for use by several goroutines.
type Keeper struct {
	options Options
	current atomic.Pointer[served]

	// Of the looks, which come one after the other.
	bad    content // what could not be taken up at the look before
	told   content // of which the log says it
	warned content // that ends soon
}

// content stands for what the files have.
type content [sha256.Size]byte

// served is one pair, as it was read.
type served struct {
	content content
	leaf    *x509.Certificate
	config  *tls.Config
}

// Open reads the files, or makes a pair. One that has ended is served all the
// same: a daemon that did not start would hold up more than its callers.
func Open(o Options) (*Keeper, error) {
	k := &Keeper{options: o}
	first, err := k.read()
	if err != nil {
		return nil, err
	}
	if end := first.leaf.NotAfter; !o.Now().Before(end) {
		o.Log.Error("the certificate has ended, callers will refuse it", "api.tls.cert", k.files().cert, "ended", end)
	}
	k.current.Store(first)
	k.warn(first)
	return k, nil
}

// Leaf is the certificate that is served now.
func (k *Keeper) Leaf() *x509.Certificate { return k.current.Load().leaf }

// Config gives what a server needs: each connection gets the pair of the moment
// when it begins. There are no session tickets, so that a caller's certificate is
// checked with each connection against those who sign now.
func (k *Keeper) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.current.Load().config, nil },
	}
}

// Watch takes up what changes, until ctx ends. It compares what the files have
// and not when they were written, so a link that is moved or a clock that jumps
// hides nothing.
func (k *Keeper) Watch(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			k.look()
		}
	}
}

// look takes up what the files have now. A fault is told when it is there at two
// looks: a certificate and its key are two files, and between their writes they
// do not match.
func (k *Keeper) look() {
	now, err := k.read()
	before := k.current.Load()
	if err == nil && now.content == before.content {
		k.bad, k.told = content{}, content{}
		k.warn(before)
		return
	}
	if err == nil && !k.options.Now().Before(now.leaf.NotAfter) {
		err = &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("api.tls.cert: %q ended at %s, expected one that has not", k.files().cert, now.leaf.NotAfter.Format(time.RFC3339))}
	}
	if err != nil {
		fault := content(sha256.Sum256([]byte(err.Error())))
		if fault == k.bad && fault != k.told {
			k.options.Log.Error("certificate not taken up, the one before stays", "error", err, "ends", before.leaf.NotAfter)
			k.told = fault
		}
		k.bad = fault
		return
	}
	k.current.Store(now)
	k.bad, k.told = content{}, content{}
	k.options.Log.Info("certificate taken up", "ends", now.leaf.NotAfter)
	k.warn(now)
}

// warn says once of each certificate from a file that it ends soon.
func (k *Keeper) warn(s *served) {
	if s.leaf.NotAfter.Sub(k.options.Now()) < warnBefore && k.warned != s.content {
		k.options.Log.Warn("the certificate ends soon, expected a new one in its files", "api.tls.cert", k.files().cert, "ends", s.leaf.NotAfter)
		k.warned = s.content
	}
}

// files are where the pair is.
type files struct{ cert, key string }

func (k *Keeper) files() files {
	if k.options.Cert != "" {
		return files{k.options.Cert, k.options.Key}
	}
	return selfMade(k.options.Dir).files()
}

// read makes the pair where that is ours to do, and reads what is served.
func (k *Keeper) read() (*served, error) {
	o, at := &k.options, k.files()
	if o.Cert == "" {
		if err := selfMade(o.Dir).renew(o.Names, o.Now()); err != nil {
			return nil, err
		}
	}
	certificate, err := readFile("api.tls.cert", at.cert)
	if err != nil {
		return nil, err
	}
	key, err := readFile("api.tls.key", at.key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("api.tls.cert and api.tls.key: %q and %q, expected a certificate and its key in PEM", at.cert, at.key), Err: err}
	}
	s := &served{leaf: pair.Leaf, config: &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, SessionTicketsDisabled: true, NextProtos: []string{"http/1.1"},
	}}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %d ", len(certificate), len(key))
	sum.Write(certificate)
	sum.Write(key)
	if o.ClientCA != "" {
		signers, err := readFile("api.tls.client_ca", o.ClientCA)
		if err != nil {
			return nil, err
		}
		s.config.ClientCAs, s.config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
		if !s.config.ClientCAs.AppendCertsFromPEM(signers) {
			return nil, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("api.tls.client_ca: %q has no certificate, expected some in PEM", o.ClientCA)}
		}
		sum.Write(signers)
	}
	s.content = content(sum.Sum(nil))
	return s, nil
}

func readFile(setting, name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		err = fmt.Errorf("%s of %d bytes, expected a file of at most %d", info.Mode().Type(), info.Size(), maxFile)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("%s: %q, expected a file that can be read", setting, name), Err: err}
	}
	return text, nil
}

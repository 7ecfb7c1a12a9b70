package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"k8s.io/client-go/rest"
)

// front gives a server before an API server, which speaks TLS and HTTP/2 as that does.
// Each request comes to handle, with what sends it on, and each answer to seen on its
// way back. Where there is no answer, the connection ends.
func front(t *testing.T, to *rest.Config, handle func(w http.ResponseWriter, r *http.Request, on http.Handler), seen func(*http.Response)) *httptest.Server {
	t.Helper()
	upstream, err := url.Parse(to.Host)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(to.CAData)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	on := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ModifyResponse: func(r *http.Response) error {
			seen(r)
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, on) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // a daemon that is killed ends its connections
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	return server
}

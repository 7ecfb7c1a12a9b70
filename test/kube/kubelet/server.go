package kubelet

import (
	"crypto/tls"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
)

// serve answers the API server's requests for logs, on a port that the nodes
// name in their status. The certificate is signed by itself; the API server
// does not check it unless it is told an authority.
func (k *Kubelet) serve() (port int32, err error) {
	pem, key, err := cert.GenerateSelfSignedCertKey(address, nil, nil)
	if err != nil {
		return 0, fmt.Errorf("make a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(pem, key)
	if err != nil {
		return 0, fmt.Errorf("make a certificate: %w", err)
	}
	l, err := net.Listen("tcp", address+":0")
	if err != nil {
		return 0, fmt.Errorf("listen for requests of logs: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serveLog)
	k.server = &http.Server{
		Handler: mux, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
		ErrorLog: stdlog.New(io.Discard, "", 0), // an API server that is killed is no news
	}
	k.routine.Go(func() { _ = k.server.ServeTLS(l, "", "") }) // until it is closed
	return int32(l.Addr().(*net.TCPAddr).Port), nil
}

// logQuery is which part of a log is asked for.
type logQuery struct {
	follow     bool
	timestamps bool
	tail       int // lines; negative for all
	since      time.Time
}

func readLogQuery(q url.Values, now time.Time) (lq logQuery, err error) {
	lq = logQuery{follow: q.Get("follow") == "true", timestamps: q.Get("timestamps") == "true", tail: -1}
	if text := q.Get("tailLines"); text != "" {
		if lq.tail, err = strconv.Atoi(text); err != nil {
			return lq, fmt.Errorf("read tailLines: %w", err)
		}
	}
	if text := q.Get("sinceTime"); text != "" {
		if lq.since, err = time.Parse(time.RFC3339, text); err != nil {
			return lq, fmt.Errorf("read sinceTime: %w", err)
		}
	}
	if text := q.Get("sinceSeconds"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return lq, fmt.Errorf("read sinceSeconds: %w", err)
		}
		lq.since = now.Add(-time.Duration(seconds) * time.Second)
	}
	return lq, nil
}

// serveLog writes a pod's log. All containers of a pod share one.
func (k *Kubelet) serveLog(w http.ResponseWriter, r *http.Request) {
	q, err := readLogQuery(r.URL.Query(), time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	k.mu.Lock()
	l := k.logs[types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("pod")}]
	k.mu.Unlock()
	if l == nil {
		http.Error(w, "the pod is not on this node", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	next := l.first(q.since, q.tail)
	for {
		lines, over, more := l.from(next)
		for _, line := range lines {
			if q.timestamps {
				fmt.Fprint(w, line.at.UTC().Format(time.RFC3339Nano), " ")
			}
			fmt.Fprintln(w, line.text)
		}
		if over || !q.follow {
			return
		}
		next += len(lines)
		_ = http.NewResponseController(w).Flush() // one who went away ends the request
		select {
		case <-r.Context().Done():
			return
		case <-more:
		}
	}
}

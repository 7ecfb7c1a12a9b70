package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
)

// StartIn is how long the servers of a plane have to become ready, each. It
// takes about 4 seconds on an idle machine.
const StartIn = 2 * time.Minute

// Config says what plane to start.
type Config struct {
	// Dir is an existing folder for data, certificates, kubeconfig files and logs.
	Dir string
	// RBAC lets role bindings decide who may do what; else everybody may do
	// everything.
	RBAC bool
	// Users are those besides Admin.
	Users []User
	// Scheduler asks for a kube-scheduler.
	Scheduler bool
}

// Plane is a running control plane. Its methods are not for several goroutines
// at once.
type Plane struct {
	dir       string
	url       string
	ca        []byte
	tokens    map[string]string // by user
	etcd      *process
	apiserver *process
	scheduler *process // nil where not asked for
	ready     func(context.Context) error
}

// Start starts a plane and returns once it is ready. The error wraps
// ErrNoAssets where the binaries are not there; nothing runs after any error.
func Start(ctx context.Context, c Config) (*Plane, error) {
	for attempt := 1; ; attempt++ {
		p := &Plane{dir: c.Dir}
		err := p.start(ctx, c)
		if err == nil {
			return p, nil
		}
		p.Stop()
		// An address that was free may be somebody's by the time a server listens.
		if attempt == 3 || !strings.Contains(err.Error(), "address already in use") {
			return nil, fmt.Errorf("start a control plane: %w", err)
		}
	}
}

func (p *Plane) start(ctx context.Context, c Config) error {
	addresses, err := free(3)
	if err != nil {
		return err
	}
	users := append([]User{{Name: Admin, Groups: []string{"system:masters"}}}, c.Users...)
	tokens := filepath.Join(p.dir, "tokens.csv")
	if p.tokens, err = writeTokens(tokens, users); err != nil {
		return err
	}
	if p.etcd, err = newEtcd(p.dir, addresses[0]); err != nil {
		return err
	}
	if p.apiserver, err = newAPIServer(p.dir, addresses[1], addresses[0], tokens, c.RBAC); err != nil {
		return err
	}
	if c.Scheduler {
		if p.scheduler, err = newScheduler(p.dir, addresses[2], p.Kubeconfig(Admin)); err != nil {
			return err
		}
	}
	if err := run(ctx, p.etcd, etcdReady(addresses[0])); err != nil {
		return err
	}
	p.url = "https://" + addresses[1]
	p.ready = apiServerReady(p.dir, p.url, p.tokens[Admin])
	if err := p.StartAPIServer(ctx); err != nil {
		return err
	}
	if p.ca, err = authority(p.dir); err != nil {
		return err
	}
	for _, u := range users {
		if err := writeKubeconfig(p.Kubeconfig(u.Name), p.url, u.Name, p.tokens[u.Name], p.ca); err != nil {
			return err
		}
	}
	if p.scheduler == nil {
		return nil
	}
	return run(ctx, p.scheduler, schedulerReady(addresses[2]))
}

// run starts a server and waits until it is ready.
func run(ctx context.Context, p *process, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, StartIn)
	defer cancel()
	if err := p.start(); err != nil {
		return err
	}
	return p.await(ctx, ready)
}

// Stop ends the servers, those that use others first, and returns once all are
// gone. A plane that is stopped stays so.
func (p *Plane) Stop() {
	if p.etcd.running() {
		_ = p.etcd.signal(syscall.SIGCONT) // the others would wait for it
	}
	p.scheduler.stop()
	p.apiserver.stop()
	p.etcd.stop()
}

// StartScheduler starts a kube-scheduler on a plane that was started without.
func (p *Plane) StartScheduler(ctx context.Context) error {
	addresses, err := free(1)
	if err != nil {
		return err
	}
	if p.scheduler, err = newScheduler(p.dir, addresses[0], p.Kubeconfig(Admin)); err != nil {
		return err
	}
	return run(ctx, p.scheduler, schedulerReady(addresses[0]))
}

// KillAPIServer ends the API server by SIGKILL. What it had acknowledged is in
// etcd.
func (p *Plane) KillAPIServer() { p.apiserver.kill() }

// StartAPIServer starts an API server that was killed, with its address, its
// data and its users, and returns once it is ready.
func (p *Plane) StartAPIServer(ctx context.Context) error {
	if p.apiserver.running() {
		return errors.New("start kube-apiserver: it is running")
	}
	return run(ctx, p.apiserver, p.ready)
}

// PauseEtcd freezes etcd: the API server goes on answering what it can from
// memory, and lets every write wait.
func (p *Plane) PauseEtcd() error { return p.etcd.signal(syscall.SIGSTOP) }

// ResumeEtcd ends the pause.
func (p *Plane) ResumeEtcd() error { return p.etcd.signal(syscall.SIGCONT) }

// Client is the configuration of clients that act as a user of the plane; it is
// not throttled.
func (p *Plane) Client(user string) *rest.Config { return clientConfig(p.url, p.token(user), p.ca) }

// Kubeconfig is the name of the file with which clients of other programs act as
// a user of the plane.
func (p *Plane) Kubeconfig(user string) string {
	p.token(user)
	return filepath.Join(p.dir, strings.ReplaceAll(user, ":", "-")+".kubeconfig")
}

func (p *Plane) token(user string) string {
	token, ok := p.tokens[user]
	if !ok {
		panic(fmt.Sprintf("BUG: the plane has no user %q", user))
	}
	return token
}

// Logs gives the end of what each server printed, for a test that failed.
func (p *Plane) Logs() string {
	var all strings.Builder
	for _, s := range p.servers() {
		fmt.Fprintf(&all, "%s: %s\n", s.name, s.tail())
	}
	return all.String()
}

// CPU is the processor time that each server has used, by name.
func (p *Plane) CPU() (map[string]time.Duration, error) {
	used := map[string]time.Duration{}
	for _, s := range p.servers() {
		cpu, err := processorTime(s.cmd.Process.Pid)
		if err != nil {
			return nil, err
		}
		used[s.name] = cpu
	}
	return used, nil
}

func (p *Plane) servers() []*process {
	return slices.DeleteFunc([]*process{p.etcd, p.apiserver, p.scheduler}, func(s *process) bool { return s == nil })
}

// free gives loopback addresses that nobody listens on, all different.
func free(n int) (addresses []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close() // at the end, so that none is given out twice
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

package api

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/apitest"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// The whole way of a plugin, over HTTP: what a tenant pushes is its own, the
// cluster's is for operators, and viewers look on.
func TestPluginTour(t *testing.T) {
	b := apitest.New()
	g := guarded(t, b)
	ctx := t.Context()
	operator := dial(t, g.socket)
	for _, name := range []string{"acme", "other"} {
		must(operator.CreateTenant(ctx, name))(t)
	}
	as := func(role access.Role, tenant string) *client.Client {
		return dial(t, g.url).As(g.give(role, tenant).Text, "")
	}
	admin, viewer, other := as(access.TenantAdmin, "acme"), as(access.Viewer, "acme"), as(access.TenantAdmin, "other")

	v := must(admin.PushPlugin(ctx, false, client.PluginPush{Module: []byte("spread@1"), Tag: "stable"}))(t)
	if v.Tenant != "acme" || v.By == "" || len(v.Checks) != 1 {
		t.Errorf("%+v", v)
	}
	must(operator.PushPlugin(ctx, true, client.PluginPush{Module: []byte("base@2")}))(t)
	if list := must(viewer.Plugins(ctx, ""))(t); len(list) != 2 {
		t.Errorf("%+v", list)
	}
	if list := must(other.Plugins(ctx, "spread"))(t); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	if m := must(viewer.PullPlugin(ctx, "spread@1"))(t); !bytes.Equal(m.Module, []byte("spread@1")) {
		t.Errorf("%+v", m)
	}
	must(operator.Activate(ctx, true, client.ActivationSpec{Plugin: "base"}))(t)
	stack := must(admin.Activate(ctx, false, client.ActivationSpec{Plugin: "spread@1", Params: map[string]string{"x": "1"}}))(t)
	if len(stack.Layers) != 2 || stack.Layers[0].Scope != "cluster" || stack.Layers[1].Params["x"] != "1" {
		t.Errorf("%+v", stack)
	}
	if stack := must(other.Policy(ctx, false))(t); len(stack.Layers) != 1 {
		t.Errorf("%+v", stack)
	}
	if stack := must(operator.Policy(ctx, true))(t); len(stack.Layers) != 1 || stack.Tenant != "" {
		t.Errorf("%+v", stack)
	}
	denied := func(err error, kind poise.Kind) {
		t.Helper()
		if poise.KindOf(err) != kind {
			t.Errorf("%v, expected %s", err, kind)
		}
	}
	_, err := viewer.PushPlugin(ctx, false, client.PluginPush{Module: []byte("x@1")})
	denied(err, poise.Denied)
	_, err = viewer.Activate(ctx, false, client.ActivationSpec{Plugin: "base"})
	denied(err, poise.Denied)
	_, err = admin.PushPlugin(ctx, true, client.PluginPush{Module: []byte("x@1")})
	denied(err, poise.Denied)
	_, err = admin.Activate(ctx, true, client.ActivationSpec{Plugin: "base"})
	denied(err, poise.Denied)
	_, err = admin.Rollback(ctx, true)
	denied(err, poise.Denied)
	denied(admin.Deactivate(ctx, true), poise.Denied)
	denied(admin.DeletePlugin(ctx, true, "base@2"), poise.Denied)
	_, err = admin.CollectPlugins(ctx)
	denied(err, poise.Denied)
	_, err = other.PullPlugin(ctx, "spread@1")
	denied(err, poise.NotFound)
	denied(other.DeletePlugin(ctx, false, "spread@1"), poise.NotFound)
	_, err = admin.PushPlugin(ctx, false, client.PluginPush{Module: []byte("no module")})
	denied(err, poise.Invalid)

	if stack := must(admin.Rollback(ctx, false))(t); len(stack.Layers) != 1 {
		t.Errorf("%+v", stack)
	}
	if err := operator.Deactivate(ctx, true); err != nil {
		t.Error(err)
	}
	if err := admin.DeletePlugin(ctx, false, "spread@1"); err != nil {
		t.Error(err)
	}
	if gone := must(operator.CollectPlugins(ctx))(t); gone.Modules != 2 {
		t.Errorf("%+v", gone)
	}
	seen := map[string]bool{}
	for _, r := range must(operator.Audit(ctx, client.AuditFilter{Limit: 100}))(t).Records {
		seen[r.Action+" "+r.Object] = true
	}
	for _, want := range []string{"push-plugin plugin spread@1 " + v.Digest, "activate-plugin policy of tenant acme: spread@1", "activate-plugin policy of the cluster: base", "delete-plugin plugin spread@1"} {
		if !seen[want] {
			t.Errorf("no audit record %q in %v", want, seen)
		}
	}
}

// The body of a push may be as long as a module, that of another request not.
func TestPushBody(t *testing.T) {
	l := Limits{MaxBody: 1 << 10, MaxModule: 4 << 20}
	f := func(method, path string, want int64) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://x"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.body(r); got != want {
			t.Errorf("%s %s: %d bytes, expected %d", method, path, got, want)
		}
	}
	const push = (4<<20)/3*4 + 64<<10
	f(http.MethodPost, "/v1/plugins", push)
	f(http.MethodPost, "/v1/plugins?cluster=true", push)
	f(http.MethodDelete, "/v1/plugins/x", 1<<10)
	f(http.MethodPost, "/v1/jobs", 1<<10)
	lim := generous()
	lim.MaxModule = 4 << 20
	s := serve(t, apitest.New(), func() Limits { return lim })
	big := append([]byte("big@1"), make([]byte, 3<<20)...)
	if v, err := dial(t, s.url).PushPlugin(t.Context(), false, client.PluginPush{Module: big}); err != nil || v.Size != len(big) {
		t.Errorf("%+v, %v", v.Size, err)
	}
}

// slow is a backend that takes its time over a push.
type slow struct {
	*apitest.Backend
	takes time.Duration
}

func (s *slow) PushPlugin(ctx context.Context, tenant poise.TenantID, p client.PluginPush, by string) (client.PluginVersion, error) {
	select {
	case <-ctx.Done():
		return client.PluginVersion{}, ctx.Err()
	case <-time.After(s.takes):
	}
	return s.Backend.PushPlugin(ctx, tenant, p, by)
}

// A push may take longer than other requests.
func TestSlowPush(t *testing.T) {
	const request = 100 * time.Millisecond
	s := newServer(&slow{apitest.New(), 5 * request}, Options{Limits: generous, Log: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run(t, Server(s.handler(nil), Timeouts{Request: request, Idle: time.Minute}), l)
	if v, err := dial(t, l.Addr().String()).PushPlugin(t.Context(), false, client.PluginPush{Module: []byte("x@1")}); err != nil || v.Plugin != "x" {
		t.Errorf("%+v, %v", v, err)
	}
}

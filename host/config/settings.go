package config

import (
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// settings is the table of everything that can be set, in the order in which it
// is shown.
func settings() []setting {
	anything := func(string) bool { return true }
	const fuel = 1 << 40
	return []setting{
		path(one("data_dir", "where the daemon keeps its state", text("a path", anything), func(c *Config) *string { return &c.DataDir })),
		running(one("allow_shared_uid", "let tasks of several tenants run as the daemon's own user, who can read all their files", toggle(), func(c *Config) *bool { return &c.AllowSharedUID })),

		one("api.listen", "address of the HTTP API", text("host:port such as 127.0.0.1:7433", isAddress), func(c *Config) *string { return &c.API.Listen }),
		path(one("api.socket", "Unix socket of the HTTP API, poise.sock in data_dir when not set", text("a path of at most 107 bytes", func(s string) bool { return len(s) <= maxSocket }), func(c *Config) *string { return &c.API.Socket })),
		running(one("api.max_body", "largest body of a request", size(1<<10, 1<<30), func(c *Config) *Size { return &c.API.MaxBody })),
		running(one("api.rate", "requests per second and tenant", decimal(0.1, 1e6), func(c *Config) *float64 { return &c.API.Rate })),
		running(one("api.burst", "requests of a tenant at once above the rate", whole(1, 1e6), func(c *Config) *int64 { return &c.API.Burst })),
		one("api.request_timeout", "how long a request may take to arrive and to be answered, event streams apart", span(time.Second, time.Hour), func(c *Config) *time.Duration { return &c.API.RequestTimeout }),
		one("api.idle_timeout", "how long a connection stays open between requests", span(time.Second, day), func(c *Config) *time.Duration { return &c.API.IdleTimeout }),
		one("api.shutdown_timeout", "how long a stop waits for requests under way", span(0, time.Hour), func(c *Config) *time.Duration { return &c.API.ShutdownTimeout }),
		one("api.listen_without_tls_off_loopback", "answer other machines without TLS, where all on the way can read and change what is said, tokens too", toggle(), func(c *Config) *bool { return &c.API.Plaintext }),
		path(one("api.tls.cert", "certificate of the API in PEM, with those that sign it; read again when it changes", text("a path", anything), func(c *Config) *string { return &c.API.TLS.Cert })),
		path(one("api.tls.key", "key of api.tls.cert in PEM", text("a path", anything), func(c *Config) *string { return &c.API.TLS.Key })),
		one("api.tls.self_signed", "answer with a certificate of the daemon's own making, kept in tls in data_dir", toggle(), func(c *Config) *bool { return &c.API.TLS.SelfSigned }),
		one("api.tls.names", "names and addresses of a self-made certificate, beside those of api.listen and this machine's", list(0, 64), func(c *Config) *[]string { return &c.API.TLS.Names }),
		path(one("api.tls.client_ca", "those who sign callers' certificates, in PEM; empty: callers show none", text("a path", anything), func(c *Config) *string { return &c.API.TLS.ClientCA })),
		running(one("api.tls.clients", "what callers with a certificate may do: its common name or URI, and TENANT:ROLE, admin or operator", grants(1024), func(c *Config) *map[string]string { return &c.API.TLS.Clients })),
		one("api.oidc.issuer", "URL of the OpenID Connect provider that people log in at; empty for none", text("an https URL, or an http one on loopback", isIssuer), func(c *Config) *string { return &c.API.OIDC.Issuer }),
		one("api.oidc.client_id", "what the provider calls this installation; its ID tokens are for that", text("text without space", noSpace), func(c *Config) *string { return &c.API.OIDC.ClientID }),
		one("api.oidc.user_claim", "claim of an ID token that names the person in the audit log", text("the name of a claim", isName), func(c *Config) *string { return &c.API.OIDC.UserClaim }),
		one("api.oidc.groups_claim", "claim of an ID token with the person's groups", text("the name of a claim", isName), func(c *Config) *string { return &c.API.OIDC.GroupsClaim }),
		running(one("api.oidc.groups", "what the members of a group may do: its name, and TENANT:ROLE, admin or operator", grants(1024), func(c *Config) *map[string]string { return &c.API.OIDC.Groups })),

		one("engine.kind", "what runs the tasks: local, processes on this machine; sim, virtual time", choice("local", "sim"), func(c *Config) *string { return &c.Engine.Kind }),
		one("engine.sim_scale", "sim: virtual seconds per second; a task of no run time takes ten virtual minutes", decimal(0.001, 1e6), func(c *Config) *float64 { return &c.Engine.SimScale }),
		one("engine.log_limit", "local: output kept per task", size(1<<10, 1<<40), func(c *Config) *Size { return &c.Engine.LogLimit }),
		one("engine.reserve_memory", "local: memory of this machine that no task gets, a quarter of it at most", size(0, 1<<50), func(c *Config) *Size { return &c.Engine.ReserveMemory }),

		one("store.snapshot_every", "events between snapshots of the state", whole(100, 1e9), func(c *Config) *int64 { return &c.Store.SnapshotEvery }),
		running(one("store.retention", "how long finished jobs and their decisions are kept", span(time.Minute, 3650*day), func(c *Config) *time.Duration { return &c.Store.Retention })),
		running(one("store.history", "how many finished jobs are kept at most", whole(0, 1e9), func(c *Config) *int64 { return &c.Store.History })),

		running(path(one("policy.path", "cluster-wide policy, a .wasm file; empty for none", text("a path", anything), func(c *Config) *string { return &c.Policy.Path }))),
		running(one("policy.params", "parameters of the cluster-wide policy", dictionary(256), func(c *Config) *map[string]string { return &c.Policy.Params })),
		running(one("policy.weight", "weight beside the native loss; 0 = in its place", decimal(0, 1e6), func(c *Config) *float64 { return &c.Policy.Weight })),
		running(one("policy.on_failure", "what a failure of the cluster-wide policy means; empty = reject with a filter, else fallback", choice("", "fallback", "reject", "last-good"), func(c *Config) *string { return &c.Policy.OnFailure })),
		one("policy.limits.module", "largest plugin", size(1<<10, 1<<30), func(c *Config) *Size { return &c.Policy.Limits.Module }),
		one("policy.limits.memory", "memory of a plugin, whole pages of 64Ki", size(page, 4<<30), func(c *Config) *Size { return &c.Policy.Limits.Memory }),
		one("policy.limits.go_memory", "the same for a stock Go plugin", size(page, 4<<30), func(c *Config) *Size { return &c.Policy.Limits.GoMemory }),
		one("policy.limits.call_fuel", "fuel of one guest call, which bounds a pause", whole(1, fuel), func(c *Config) *int64 { return &c.Policy.Limits.CallFuel }),
		one("policy.limits.go_call_fuel", "the same for a stock Go plugin", whole(1, fuel), func(c *Config) *int64 { return &c.Policy.Limits.GoCallFuel }),
		one("policy.limits.setup_fuel", "fuel of all before the first call", whole(1, fuel), func(c *Config) *int64 { return &c.Policy.Limits.SetupFuel }),
		one("policy.limits.job_fuel", "fuel of a job, beside that of its rows", whole(1, fuel), func(c *Config) *int64 { return &c.Policy.Limits.JobFuel }),
		one("policy.limits.row_fuel", "fuel of a job per row", whole(1, fuel), func(c *Config) *int64 { return &c.Policy.Limits.RowFuel }),
		one("policy.limits.compile_time", "CPU time of compiling a plugin", span(time.Second, time.Hour), func(c *Config) *time.Duration { return &c.Policy.Limits.CompileTime }),
		one("policy.limits.compile_memory", "memory of compiling a plugin", size(64<<20, 1<<40), func(c *Config) *Size { return &c.Policy.Limits.CompileMemory }),
		running(one("policy.limits.tenant_fuel", "fuel per second and tenant", whole(1, fuel), func(c *Config) *int64 { return &c.Policy.Limits.TenantFuel })),
		running(one("policy.limits.tenant_weight", "largest weight that a tenant may give its policy", decimal(0, 1e6), func(c *Config) *float64 { return &c.Policy.Limits.TenantWeight })),

		one("cluster.name", "name of the cluster that the nodes of the start join", text("a name of at most 253 bytes without space", func(s string) bool { return isName(s) && len(s) <= 253 }), func(c *Config) *string { return &c.Cluster.Name }),
		path(one("cluster.inventory", "file of nodes that are there from the start; empty for none", text("a path", anything), func(c *Config) *string { return &c.Cluster.Inventory })),
		one("cluster.in_cluster", "name that the cluster of Kubernetes joins by that the daemon runs in; empty: it does not join by itself", text("a name of at most 253 bytes without space and slash, or nothing", isClusterOrNothing), func(c *Config) *string { return &c.Cluster.InCluster }),
		one("cluster.in_cluster_nodes", "labels of the nodes of that cluster that are used, such as pool=poise; empty for all", text("a selector of labels", anything), func(c *Config) *string { return &c.Cluster.InClusterNodes }),
		one("cluster.home", "namespace of Kubernetes with what survives this daemon, where one of several replicas leads; empty: this is the only one", text("a name of a-z, 0-9 and - of at most 63 bytes, or nothing", isNamespaceOrNothing), func(c *Config) *string { return &c.Cluster.Home }),
		path(one("cluster.home_kubeconfig", "kubeconfig of the cluster of cluster.home; empty: the one that the daemon runs in", text("a path", anything), func(c *Config) *string { return &c.Cluster.HomeKubeconfig })),
		one("cluster.home_context", "context of that kubeconfig; empty: its current one", text("a name", anything), func(c *Config) *string { return &c.Cluster.HomeContext }),
		one("cluster.home_lease", "how long after its last sign of life another replica takes over from the one that leads", span(3*time.Second, 10*time.Minute), func(c *Config) *time.Duration { return &c.Cluster.HomeLease }),

		running(one("scheduler.policy", "native scorer", choice("idle-balance", "idle-balance-spread", "idle-balance-demand"), func(c *Config) *string { return &c.Scheduler.Policy })),
		running(one("scheduler.params.beta", "idle-balance: exponent of the gpu column's balance degree", decimal(0.01, 4), func(c *Config) *float64 { return &c.Scheduler.Params.Beta })),
		running(one("scheduler.params.lambda", "idle-balance: weight of the room column", decimal(0, 1e3), func(c *Config) *float64 { return &c.Scheduler.Params.Lambda })),
		running(one("scheduler.params.gamma", "idle-balance: how fast scarce room becomes dear", decimal(0, 8), func(c *Config) *float64 { return &c.Scheduler.Params.Gamma })),
		running(one("scheduler.params.epsilon", "idle-balance: weight of the prior shapes against all seen ones", decimal(0, 10), func(c *Config) *float64 { return &c.Scheduler.Params.Epsilon })),
		running(one("scheduler.params.cover", "idle-balance: share of the weight that the kept shapes must reach", decimal(0.01, 1), func(c *Config) *float64 { return &c.Scheduler.Params.Cover })),
		running(one("scheduler.params.shapes", "idle-balance: how many seen shapes are kept at most", whole(1, 4096), func(c *Config) *int64 { return &c.Scheduler.Params.Shapes })),
		running(one("scheduler.protect_devices", "keep nodes with devices for jobs that ask for devices", toggle(), func(c *Config) *bool { return &c.Scheduler.ProtectDevices })),
		running(one("scheduler.ties", "order of equal losses", choice("name", "seeded"), func(c *Config) *string { return &c.Scheduler.Ties })),
		running(one("scheduler.seed", "seed of the seeded tie rule", whole(0, 1<<53), func(c *Config) *int64 { return &c.Scheduler.Seed })),
		one("scheduler.half_life", "arrivals after which what jobs asked for counts half; 0 = never", decimal(0, 1e12), func(c *Config) *float64 { return &c.Scheduler.HalfLife }),

		one("queue.step", "how long a job waits to outweigh one level of priority", span(time.Millisecond, day), func(c *Config) *time.Duration { return &c.Queue.Step }),
		one("queue.sweep", "how long a job stays parked without being tried again", span(time.Second, day), func(c *Config) *time.Duration { return &c.Queue.Sweep }),
		one("queue.retry_base", "delay after a first failed attempt to bind", span(time.Millisecond, day), func(c *Config) *time.Duration { return &c.Queue.RetryBase }),
		one("queue.retry_max", "longest delay after failed attempts to bind", span(time.Millisecond, day), func(c *Config) *time.Duration { return &c.Queue.RetryMax }),
		one("queue.usage_half_life", "time after which what a tenant held counts half in its fair share; 0 = the past counts nothing", span(0, 3650*day), func(c *Config) *time.Duration { return &c.Queue.UsageHalfLife }),
		running(one("queue.reservations", "for how many jobs that wait for room nodes are kept at a time: others take of them only what does not delay those; 0 = for none", whole(0, 64), func(c *Config) *int64 { return &c.Queue.Reservations })),
		running(one("queue.patience", "how long a job has to have waited before nodes are kept for it", span(0, 365*day), func(c *Config) *time.Duration { return &c.Queue.Patience })),

		running(one("queue.preemption", "whose tasks end for a job that fits, but not now: priority, those of its own tenant with a lower priority; reclaim, those of tenants beyond their guarantee, for one within its own; off, extra members of gangs alone", choice("off", "priority", "reclaim", "both"), func(c *Config) *string { return &c.Queue.Preemption })),
		running(one("queue.preemption_grace", "how long a task that ends for another job has between TERM and KILL", span(0, day), func(c *Config) *time.Duration { return &c.Queue.PreemptionGrace })),
		running(one("queue.preemption_cooldown", "how long a job that was displaced runs before it is again", span(0, 7*day), func(c *Config) *time.Duration { return &c.Queue.PreemptionCooldown })),
		running(one("queue.elastic_hold", "how long an extra member of a gang runs before it ends for others that have waited for queue.patience, and then waits before it starts again", span(0, 7*day), func(c *Config) *time.Duration { return &c.Queue.ElasticHold })),

		one("model.resolution", "how unlike nodes of one class may be, in octaves", decimal(0.05, 4), func(c *Config) *float64 { return &c.Model.Resolution }),
		one("model.weight_exponent", "how much the number of nodes of a kind counts", decimal(0, 1), func(c *Config) *float64 { return &c.Model.WeightExponent }),
		one("model.features", "dimensions that nodes are compared by", list(1, 16), func(c *Config) *[]string { return &c.Model.Features }),

		running(one("log.level", "least level that is logged", choice("debug", "info", "warn", "error"), func(c *Config) *string { return &c.Log.Level })),
		one("log.format", "auto: text on a terminal, else json", choice("auto", "text", "json"), func(c *Config) *string { return &c.Log.Format }),
	}
}

const (
	page      = 64 << 10
	maxSocket = 107 // of sockaddr_un on Linux, without the closing zero
)

// isAddress leaves the look-up of the host to who listens. Nothing is no address:
// it would be a port of the system's choice on every interface.
func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && port == strconv.FormatUint(n, 10)
}

// isIssuer lets in what an ID token may be asked from: in the clear only on this
// machine.
func isIssuer(s string) bool {
	u, err := url.Parse(s)
	if s == "" || err != nil {
		return s == ""
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return (u.Scheme == "https" || u.Scheme == "http" && local) && u.Host != "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}

func isClusterOrNothing(s string) bool {
	return s == "" || isName(s) && len(s) <= 253 && !strings.Contains(s, "/")
}

var namespace = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$`)

func isNamespaceOrNothing(s string) bool { return namespace.MatchString(s) }

func noSpace(s string) bool { return !strings.Contains(s, " ") }

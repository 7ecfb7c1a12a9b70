package config

import "time"

// Config is everything that an operator can set. The tags are the names of the
// settings in the file.
type Config struct {
	DataDir string `koanf:"data_dir"`
	// AllowSharedUID permits tasks that the isolation of tenants would refuse.
	AllowSharedUID bool `koanf:"allow_shared_uid"`

	API       API       `koanf:"api"`
	Engine    Engine    `koanf:"engine"`
	Store     Store     `koanf:"store"`
	Policy    Policy    `koanf:"policy"`
	Cluster   Cluster   `koanf:"cluster"`
	Scheduler Scheduler `koanf:"scheduler"`
	Queue     Queue     `koanf:"queue"`
	Model     Model     `koanf:"model"`
	Log       Log       `koanf:"log"`
}

// API says where and how the daemon answers.
type API struct {
	Listen          string        `koanf:"listen"`
	Socket          string        `koanf:"socket"`
	MaxBody         Size          `koanf:"max_body"`
	Rate            float64       `koanf:"rate"`
	Burst           int64         `koanf:"burst"`
	RequestTimeout  time.Duration `koanf:"request_timeout"`
	IdleTimeout     time.Duration `koanf:"idle_timeout"`
	ShutdownTimeout time.Duration `koanf:"shutdown_timeout"`
	Plaintext       bool          `koanf:"listen_without_tls_off_loopback"`
	TLS             TLS           `koanf:"tls"`
	OIDC            OIDC          `koanf:"oidc"`
}

// TLS says with which certificate the API answers, and whose it takes.
type TLS struct {
	Cert       string            `koanf:"cert"`
	Key        string            `koanf:"key"`
	SelfSigned bool              `koanf:"self_signed"`
	Names      []string          `koanf:"names"`
	ClientCA   string            `koanf:"client_ca"`
	Clients    map[string]string `koanf:"clients"` // name to grant, see access.ParseGrant
}

// On says whether the API speaks TLS.
func (t *TLS) On() bool { return t.SelfSigned || t.Cert != "" }

// OIDC says who vouches for people.
type OIDC struct {
	Issuer      string            `koanf:"issuer"`
	ClientID    string            `koanf:"client_id"`
	UserClaim   string            `koanf:"user_claim"`
	GroupsClaim string            `koanf:"groups_claim"`
	Groups      map[string]string `koanf:"groups"` // group to grant, see access.ParseGrant
}

// Engine says what runs the tasks.
type Engine struct {
	Kind          string  `koanf:"kind"`
	SimScale      float64 `koanf:"sim_scale"`
	LogLimit      Size    `koanf:"log_limit"`
	ReserveMemory Size    `koanf:"reserve_memory"`
}

// Store says what is kept, and for how long.
type Store struct {
	SnapshotEvery int64         `koanf:"snapshot_every"`
	Retention     time.Duration `koanf:"retention"`
	History       int64         `koanf:"history"`
}

// Policy is the operator's own policy for all tenants, and what bounds every
// plugin.
type Policy struct {
	Path      string            `koanf:"path"`
	Params    map[string]string `koanf:"params"`
	Weight    float64           `koanf:"weight"`
	OnFailure string            `koanf:"on_failure"`
	Limits    PolicyLimits      `koanf:"limits"`
}

// PolicyLimits bound a plugin. Fuel is in weighted units.
type PolicyLimits struct {
	Module        Size          `koanf:"module"`
	Memory        Size          `koanf:"memory"`
	GoMemory      Size          `koanf:"go_memory"`
	CallFuel      int64         `koanf:"call_fuel"`
	GoCallFuel    int64         `koanf:"go_call_fuel"`
	SetupFuel     int64         `koanf:"setup_fuel"`
	JobFuel       int64         `koanf:"job_fuel"`
	RowFuel       int64         `koanf:"row_fuel"`
	CompileTime   time.Duration `koanf:"compile_time"`
	CompileMemory Size          `koanf:"compile_memory"`
	TenantFuel    int64         `koanf:"tenant_fuel"`
	TenantWeight  float64       `koanf:"tenant_weight"`
}

// Cluster says which nodes there are from the start.
type Cluster struct {
	Name           string `koanf:"name"`
	Inventory      string `koanf:"inventory"`
	InCluster      string `koanf:"in_cluster"`
	InClusterNodes string `koanf:"in_cluster_nodes"`

	Home           string        `koanf:"home"`
	HomeKubeconfig string        `koanf:"home_kubeconfig"`
	HomeContext    string        `koanf:"home_context"`
	HomeLease      time.Duration `koanf:"home_lease"`
}

// Scheduler says how nodes are ranked where no policy says otherwise.
type Scheduler struct {
	Policy         string          `koanf:"policy"`
	Params         SchedulerParams `koanf:"params"`
	ProtectDevices bool            `koanf:"protect_devices"`
	Ties           string          `koanf:"ties"`
	Seed           int64           `koanf:"seed"`
	HalfLife       float64         `koanf:"half_life"`
}

// SchedulerParams are the constants of the idle-balance policies.
type SchedulerParams struct {
	Beta    float64 `koanf:"beta"`
	Lambda  float64 `koanf:"lambda"`
	Gamma   float64 `koanf:"gamma"`
	Epsilon float64 `koanf:"epsilon"`
	Cover   float64 `koanf:"cover"`
	Shapes  int64   `koanf:"shapes"`
}

// Queue says how jobs wait.
type Queue struct {
	Step      time.Duration `koanf:"step"`
	Sweep     time.Duration `koanf:"sweep"`
	RetryBase time.Duration `koanf:"retry_base"`
	RetryMax  time.Duration `koanf:"retry_max"`

	UsageHalfLife time.Duration `koanf:"usage_half_life"`

	Reservations int64         `koanf:"reservations"`
	Patience     time.Duration `koanf:"patience"`

	Preemption         string        `koanf:"preemption"`
	PreemptionGrace    time.Duration `koanf:"preemption_grace"`
	PreemptionCooldown time.Duration `koanf:"preemption_cooldown"`
	ElasticHold        time.Duration `koanf:"elastic_hold"`
}

// Model says how nodes are grouped into classes.
type Model struct {
	Resolution     float64  `koanf:"resolution"`
	WeightExponent float64  `koanf:"weight_exponent"`
	Features       []string `koanf:"features"`
}

// Log says what the daemon logs.
type Log struct {
	Level  string `koanf:"level"`
	Format string `koanf:"format"`
}

// Defaults gives the configuration of an installation that sets nothing. Its
// data_dir and api.socket are empty: Load derives them.
func Defaults() Config {
	return Config{
		API: API{
			Listen: "127.0.0.1:7433", MaxBody: 4 << 20, Rate: 50, Burst: 100,
			RequestTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, ShutdownTimeout: 10 * time.Second,
			TLS:  TLS{Names: []string{}, Clients: map[string]string{}},
			OIDC: OIDC{UserClaim: "sub", GroupsClaim: "groups", Groups: map[string]string{}},
		},
		Engine: Engine{Kind: "local", SimScale: 60, LogLimit: 10 << 20, ReserveMemory: 512 << 20},
		Store:  Store{SnapshotEvery: 50_000, Retention: 30 * day, History: 1_000_000},
		Policy: Policy{
			Params: map[string]string{},
			Limits: PolicyLimits{
				Module: 4 << 20, Memory: 4 << 20, GoMemory: 16 << 20,
				CallFuel: 1_000_000, GoCallFuel: 300_000, SetupFuel: 20_000_000, JobFuel: 1_000_000, RowFuel: 16_384,
				CompileTime: 10 * time.Second, CompileMemory: 1 << 30,
				TenantFuel: 200_000_000, TenantWeight: 10,
			},
		},
		Cluster: Cluster{Name: "local", HomeLease: 15 * time.Second},
		Scheduler: Scheduler{
			Policy:         "idle-balance",
			Params:         SchedulerParams{Beta: 0.375, Lambda: 0.15, Gamma: 2, Epsilon: 0.1, Cover: 0.97, Shapes: 64},
			ProtectDevices: true,
			Ties:           "name",
		},
		Queue: Queue{
			Step: 10 * time.Minute, Sweep: time.Minute, RetryBase: time.Second, RetryMax: 5 * time.Minute, Reservations: 1,
			Preemption: "off", PreemptionGrace: 30 * time.Second, PreemptionCooldown: 10 * time.Minute, ElasticHold: time.Minute,
		},
		Model: Model{Resolution: 0.5, WeightExponent: 0.5, Features: []string{"cpu", "memory", "devices", "storage", "bandwidth"}},
		Log:   Log{Level: "info", Format: "auto"},
	}
}

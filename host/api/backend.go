package api

import (
	"context"
	"io"
	"time"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// Backend is the daemon as the API sees it. Its errors are poise.Errors. Specs
// were read without an error by ParseJob or ParseNode, limits are within 1 and
// client.MaxPage, and a job is addressed by id or by name, which means the
// newest job of that name. Where tenant may be "", that is the jobs of all
// tenants; a job of another tenant is not there, and nothing tells it from one
// that never was.
type Backend interface {
	Tenancy
	Shadows
	Plugins

	// Submit takes all of the jobs or none, durably when it returns. The same key
	// with the same specs gives the same answer and no new job; with others it is
	// a Conflict. No key is "".
	Submit(ctx context.Context, tenant poise.TenantID, specs []client.JobSpec, key string) ([]client.Job, error)
	Job(ctx context.Context, tenant poise.TenantID, nameOrID string) (client.Job, error)
	Jobs(ctx context.Context, tenant poise.TenantID, filter client.JobFilter) (client.JobPage, error)
	// Cancel withdraws a waiting job and stops a running one; a job that has ended
	// stays as it is.
	Cancel(ctx context.Context, tenant poise.TenantID, nameOrID string) (client.Job, error)
	// Hold keeps a waiting job from being tried, Release lets it; SetPriority changes
	// the place of a waiting job at once. Done a second time they change nothing. By is
	// who wants it.
	Hold(ctx context.Context, tenant poise.TenantID, nameOrID, by string) (client.Job, error)
	Release(ctx context.Context, tenant poise.TenantID, nameOrID string) (client.Job, error)
	SetPriority(ctx context.Context, tenant poise.TenantID, nameOrID string, priority int32, by string) (client.Job, error)
	// Sweep does one thing to all jobs that have not ended whose labels match, in one
	// turn, and gives how many that changed.
	Sweep(ctx context.Context, tenant poise.TenantID, action client.JobAction, selectors []poise.Selector, by string) (client.Swept, error)
	// Why gives the latest decision on a job in full.
	Why(ctx context.Context, tenant poise.TenantID, nameOrID string) (client.Why, error)
	// Plan decides on the state as it is now and changes nothing.
	Plan(ctx context.Context, tenant poise.TenantID, spec client.JobSpec) (client.Why, error)
	// PlanGang does so for all members of a gang; one answer speaks for a gang that is
	// not placed.
	PlanGang(ctx context.Context, tenant poise.TenantID, specs []client.JobSpec) ([]client.Why, error)
	// PlanAll says what would become of jobs that are submitted now, together, if
	// nothing else comes. It changes nothing.
	PlanAll(ctx context.Context, tenant poise.TenantID, specs []client.JobSpec) (client.Outlook, error)
	Logs(ctx context.Context, tenant poise.TenantID, nameOrID string, options client.LogOptions) (io.ReadCloser, error)

	Nodes(ctx context.Context, filter client.NodeFilter) (client.NodePage, error)
	Node(ctx context.Context, name string) (client.Node, error)
	JoinNode(ctx context.Context, spec client.NodeSpec) (client.Node, error)
	// UpdateNode is a Conflict where the node's version is another.
	UpdateNode(ctx context.Context, name string, spec client.NodeSpec, version uint64) (client.Node, error)
	DrainNode(ctx context.Context, name string, drained bool) (client.Node, error)
	LeaveNode(ctx context.Context, name string) error
	// Heartbeat is a Conflict where the node's incarnation is another.
	Heartbeat(ctx context.Context, name string, incarnation uint64) (client.Node, error)

	Clusters(ctx context.Context) ([]client.Cluster, error)
	// JoinCluster joins nodes together. Where follow is not "", it is an inventory
	// on the daemon's machine that the cluster's nodes are kept equal to.
	JoinCluster(ctx context.Context, name string, nodes []client.NodeSpec, follow string) (client.Cluster, error)
	// JoinKubernetes joins a cluster of Kubernetes, and answers once it was read, or
	// could not be for some seconds: it is tried on then.
	JoinKubernetes(ctx context.Context, name string, k client.Kubernetes) (client.Cluster, error)
	LeaveCluster(ctx context.Context, name string) error

	Classes(ctx context.Context) ([]client.Class, error)
	RebuildClasses(ctx context.Context) ([]client.Class, error)

	Decisions(ctx context.Context, tenant poise.TenantID, filter client.DecisionFilter) (client.DecisionPage, error)
	// Events hands fn every event after an index, history first, then what
	// happens, until ctx ends or fn gives an error. A tenant gets those of the fleet
	// and those of its own things.
	Events(ctx context.Context, tenant poise.TenantID, after uint64, fn func(client.Event) error) error

	// Assignments are the tasks that the external executor of a node is to run,
	// and Report is what it says of one; the same report twice is one.
	// Where the list has the revision seen, it waits for the next one for a while.
	Assignments(ctx context.Context, node string, seen uint64, wait time.Duration) (client.Assignments, error)
	Report(ctx context.Context, placement string, report client.TaskReport) error

	// Snapshot gives the snapshot file of the state behind an event, 0 = the last
	// durable one.
	Snapshot(ctx context.Context, index uint64) ([]byte, error)

	// Advice says which nodes the fleet lacks and which nobody needs.
	Advice(ctx context.Context) (client.Advice, error)

	Health(ctx context.Context) client.Health
}

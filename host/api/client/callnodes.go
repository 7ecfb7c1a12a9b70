package client

import (
	"context"
	"net/http"
	"strconv"
)

// Nodes lists nodes by name. Limit 0 stands for DefaultPage.
func (c *Client) Nodes(ctx context.Context, f NodeFilter) (NodePage, error) {
	return get[NodePage](ctx, c, params("cluster", f.Cluster, "class", f.Class, "state", f.State, "limit", number(f.Limit), "after", f.After), "nodes")
}

// Node gets a node.
func (c *Client) Node(ctx context.Context, name string) (Node, error) {
	return get[Node](ctx, c, nil, "nodes", name)
}

// JoinNode lets a node join.
func (c *Client) JoinNode(ctx context.Context, spec NodeSpec) (Node, error) {
	return post[Node](ctx, c, spec, "nodes")
}

// UpdateNode gives a node another description. It is a Conflict where the node
// has another version meanwhile.
func (c *Client) UpdateNode(ctx context.Context, name string, spec NodeSpec, version uint64) (Node, error) {
	var n Node
	err := c.do(ctx, call{
		method: http.MethodPut, path: at("nodes", name), body: spec,
		header: http.Header{"If-Match": {strconv.Quote(strconv.FormatUint(version, 10))}},
	}, &n)
	return n, err
}

// DrainNode keeps new jobs off a node, or lets them onto it again.
func (c *Client) DrainNode(ctx context.Context, name string, drained bool) (Node, error) {
	verb := "undrain"
	if drained {
		verb = "drain"
	}
	return post[Node](ctx, c, nil, "nodes", name, verb)
}

// LeaveNode lets a node leave.
func (c *Client) LeaveNode(ctx context.Context, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: at("nodes", name)}, nil)
}

// Heartbeat says that a node is there. It is a Conflict where another node has
// joined under its name.
func (c *Client) Heartbeat(ctx context.Context, name string, incarnation uint64) (Node, error) {
	return post[Node](ctx, c, map[string]uint64{"incarnation": incarnation}, "nodes", name, "heartbeat")
}

// Assignments lists the tasks that the executor of a node is to run.
func (c *Client) Assignments(ctx context.Context, node string) (Assignments, error) {
	return get[Assignments](ctx, c, nil, "nodes", node, "assignments")
}

// watchFor is how long the daemon is to wait for another list, in seconds.
const watchFor = 20

// NextAssignments lists them too, once there is another list than that of a
// revision, or after 20 s.
func (c *Client) NextAssignments(ctx context.Context, node string, seen uint64) (Assignments, error) {
	return get[Assignments](ctx, c, params("seen", strconv.FormatUint(seen, 10), "wait", number(watchFor)), "nodes", node, "assignments")
}

// Report says how far a task has come.
func (c *Client) Report(ctx context.Context, placement string, r TaskReport) error {
	return c.do(ctx, call{method: http.MethodPost, path: at("placements", placement, "report"), body: r}, nil)
}

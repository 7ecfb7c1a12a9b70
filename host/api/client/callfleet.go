package client

import (
	"context"
	"net/http"
)

// Clusters lists the clusters by name.
func (c *Client) Clusters(ctx context.Context) ([]Cluster, error) {
	v, err := get[struct{ Clusters []Cluster }](ctx, c, nil, "clusters")
	return v.Clusters, err
}

// JoinCluster joins nodes together, all or none. Where follow is not "", it is
// an inventory on the daemon's machine, in place of nodes.
func (c *Client) JoinCluster(ctx context.Context, name string, nodes []NodeSpec, follow string) (Cluster, error) {
	body := map[string]any{"name": name}
	if follow != "" {
		body["follow"] = follow
	}
	if len(nodes) > 0 {
		body["nodes"] = nodes
	}
	return post[Cluster](ctx, c, body, "clusters")
}

// JoinKubernetes joins a cluster of Kubernetes.
func (c *Client) JoinKubernetes(ctx context.Context, name string, k Kubernetes) (Cluster, error) {
	return post[Cluster](ctx, c, map[string]any{"name": name, "kubernetes": k}, "clusters")
}

// LeaveCluster lets all nodes of a cluster leave.
func (c *Client) LeaveCluster(ctx context.Context, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: at("clusters", name)}, nil)
}

// Classes lists the classes of nodes.
func (c *Client) Classes(ctx context.Context) ([]Class, error) {
	v, err := get[struct{ Classes []Class }](ctx, c, nil, "classes")
	return v.Classes, err
}

// RebuildClasses finds the classes anew.
func (c *Client) RebuildClasses(ctx context.Context) ([]Class, error) {
	v, err := post[struct{ Classes []Class }](ctx, c, nil, "classes", "rebuild")
	return v.Classes, err
}

// Decisions lists decisions, newest first. Limit 0 stands for DefaultPage.
func (c *Client) Decisions(ctx context.Context, f DecisionFilter) (DecisionPage, error) {
	return get[DecisionPage](ctx, c, params("job", f.Job, "node", f.Node, "verdict", f.Verdict, "limit", number(f.Limit), "after", f.After), "decisions")
}

// Health asks how the daemon is.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	err := c.do(ctx, call{method: http.MethodGet, path: "/healthz"}, &h)
	return h, err
}

package client

import (
	"context"
	"net/http"
	"strconv"
)

// onCluster is the query of what is about the cluster's policy in place of a
// tenant's.
func onCluster(cluster bool, more ...string) []string {
	if cluster {
		more = append(more, "cluster", "true")
	}
	return more
}

// StartShadow has a plugin run beside the policy in force.
func (c *Client) StartShadow(ctx context.Context, cluster bool, spec ShadowSpec) (Shadow, error) {
	var v Shadow
	err := c.do(ctx, call{method: http.MethodPost, path: at("shadow"), query: params(onCluster(cluster)...), body: spec}, &v)
	return v, err
}

// Shadow gives the shadow and what it has shown.
func (c *Client) Shadow(ctx context.Context, cluster bool) (Shadow, error) {
	return get[Shadow](ctx, c, params(onCluster(cluster)...), "shadow")
}

// StopShadow ends the shadow and forgets what it has shown.
func (c *Client) StopShadow(ctx context.Context, cluster bool) error {
	return c.do(ctx, call{method: http.MethodDelete, path: at("shadow"), query: params(onCluster(cluster)...)}, nil)
}

// RerunShadow begins to find out what the fleet would be like; Shadow has the
// outcome.
func (c *Client) RerunShadow(ctx context.Context, cluster bool) (ShadowRerun, error) {
	var v ShadowRerun
	err := c.do(ctx, call{method: http.MethodPost, path: at("shadow", "fleet"), query: params(onCluster(cluster)...)}, &v)
	return v, err
}

// RecordedCases lists decisions that are worth a test.
func (c *Client) RecordedCases(ctx context.Context, f CaseFilter) (RecordedCases, error) {
	differ := ""
	if f.Differ {
		differ = "true"
	}
	return get[RecordedCases](ctx, c, params(onCluster(f.Cluster, "last", number(f.Last), "differing", differ)...), "shadow", "cases")
}

// Scene gives what a plugin got to see of a decision.
func (c *Client) Scene(ctx context.Context, cluster bool, index uint64, job string) (Scene, error) {
	return get[Scene](ctx, c, params(onCluster(cluster)...), "shadow", "cases", strconv.FormatUint(index, 10), job)
}

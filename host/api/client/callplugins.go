package client

import (
	"context"
	"net/http"
)

// Plugins lists the versions of a plugin, "" being all plugins, that the tenant
// may put in force.
func (c *Client) Plugins(ctx context.Context, plugin string) ([]PluginVersion, error) {
	v, err := get[struct{ Versions []PluginVersion }](ctx, c, params("plugin", plugin), "plugins")
	return v.Versions, err
}

// PushPlugin adds a version. The answer takes as long as its checks.
func (c *Client) PushPlugin(ctx context.Context, cluster bool, p PluginPush) (PluginVersion, error) {
	var v PluginVersion
	err := c.do(ctx, call{method: http.MethodPost, path: at("plugins"), query: params(onCluster(cluster)...), body: p}, &v)
	return v, err
}

// PullPlugin gives a version with its bytes.
func (c *Client) PullPlugin(ctx context.Context, ref string) (PluginModule, error) {
	return get[PluginModule](ctx, c, nil, "plugins", ref, "module")
}

// DeletePlugin forgets a version.
func (c *Client) DeletePlugin(ctx context.Context, cluster bool, ref string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: at("plugins", ref), query: params(onCluster(cluster)...)}, nil)
}

// CollectPlugins removes the modules that nothing needs.
func (c *Client) CollectPlugins(ctx context.Context) (PluginsCollected, error) {
	return post[PluginsCollected](ctx, c, nil, "collected-plugins")
}

// Policy says how the tenant's jobs are ranked.
func (c *Client) Policy(ctx context.Context, cluster bool) (PolicyStack, error) {
	return get[PolicyStack](ctx, c, params(onCluster(cluster)...), "policy")
}

// Activate puts a plugin in force.
func (c *Client) Activate(ctx context.Context, cluster bool, spec ActivationSpec) (PolicyStack, error) {
	var v PolicyStack
	err := c.do(ctx, call{method: http.MethodPost, path: at("policy"), query: params(onCluster(cluster)...), body: spec}, &v)
	return v, err
}

// Rollback puts the plugin before the present one in force, or none.
func (c *Client) Rollback(ctx context.Context, cluster bool) (PolicyStack, error) {
	var v PolicyStack
	err := c.do(ctx, call{method: http.MethodPost, path: at("policy", "rollback"), query: params(onCluster(cluster)...)}, &v)
	return v, err
}

// Deactivate ends the policy, and forgets those before it.
func (c *Client) Deactivate(ctx context.Context, cluster bool) error {
	return c.do(ctx, call{method: http.MethodDelete, path: at("policy"), query: params(onCluster(cluster)...)}, nil)
}

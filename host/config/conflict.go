package config

import "strings"

// clashes gathers problems.
type clashes []Problem

func (c *clashes) add(wrong bool, key, value, expected string) {
	if wrong {
		*c = append(*c, Problem{Key: key, Value: value, Expected: expected})
	}
}

// conflicts finds settings that are each right and wrong together.
func (c *Config) conflicts() []Problem {
	var found clashes
	clash := found.add
	clash(c.Queue.RetryBase > c.Queue.RetryMax, "queue.retry_base", printSpan(c.Queue.RetryBase), "at most queue.retry_max, which is "+printSpan(c.Queue.RetryMax))
	for _, m := range []struct {
		key  string
		size Size
	}{{"policy.limits.memory", c.Policy.Limits.Memory}, {"policy.limits.go_memory", c.Policy.Limits.GoMemory}} {
		clash(m.size%page != 0, m.key, m.size.String(), "a multiple of 64Ki, the page of WebAssembly")
	}
	if c.Policy.Path == "" {
		const expected = "nothing, as policy.path is empty"
		clash(len(c.Policy.Params) > 0, "policy.params", dictionary(0).print(c.Policy.Params), expected)
		clash(c.Policy.Weight != 0, "policy.weight", printReal(c.Policy.Weight), expected)
		clash(c.Policy.OnFailure != "", "policy.on_failure", c.Policy.OnFailure, expected)
	}
	clash(len(c.API.Socket) > maxSocket, "api.socket", c.API.Socket, "a path of at most 107 bytes; a shorter data_dir makes a shorter one")
	clash(c.Cluster.InCluster != "" && c.Cluster.InCluster == c.Cluster.Name, "cluster.in_cluster", c.Cluster.InCluster, "another name than cluster.name has")
	clash(c.Cluster.InClusterNodes != "" && c.Cluster.InCluster == "", "cluster.in_cluster_nodes", c.Cluster.InClusterNodes, "nothing, as cluster.in_cluster is empty")
	clash(c.Cluster.Home != "" && c.Engine.Kind != "sim", "cluster.home", c.Cluster.Home, "nothing, or sim as engine.kind: no other replica could take over the tasks of this machine")
	for _, of := range []struct{ key, value string }{{"cluster.home_kubeconfig", c.Cluster.HomeKubeconfig}, {"cluster.home_context", c.Cluster.HomeContext}} {
		clash(c.Cluster.Home == "" && of.value != "", of.key, of.value, "nothing, as cluster.home is empty")
	}
	return append(found, c.API.conflicts()...)
}

func (a *API) conflicts() []Problem {
	var found clashes
	t, o := &a.TLS, &a.OIDC
	found.add(t.Cert != "" && t.Key == "", "api.tls.cert", t.Cert, "api.tls.key beside it")
	found.add(t.Key != "" && t.Cert == "", "api.tls.key", t.Key, "api.tls.cert beside it")
	found.add(t.SelfSigned && t.Cert != "", "api.tls.self_signed", "true", "false, as api.tls.cert has a certificate")
	found.add(len(t.Names) > 0 && !t.SelfSigned, "api.tls.names", strings.Join(t.Names, ","), "nothing, as api.tls.self_signed is false")
	found.add(t.ClientCA != "" && !t.On(), "api.tls.client_ca", t.ClientCA, "api.tls.cert and api.tls.key, or api.tls.self_signed, beside it")
	found.add(o.Issuer != "" && o.ClientID == "", "api.oidc.issuer", o.Issuer, "api.oidc.client_id beside it")
	found.add(o.Issuer == "" && o.ClientID != "", "api.oidc.client_id", o.ClientID, "api.oidc.issuer beside it")
	return found
}

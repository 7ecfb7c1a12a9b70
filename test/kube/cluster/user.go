package cluster

import (
	"crypto/rand"
	"encoding/csv"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Admin is the name of the user that every plane has and that may do
// everything, under RBAC too.
const Admin = "admin"

// User is somebody whom the API server knows by a token.
type User struct {
	Name   string
	Groups []string
}

// ServiceAccount is the user that a pod with this service account would be.
// There is no object of it; role bindings name it like any other.
func ServiceAccount(namespace, name string) User {
	return User{
		Name:   "system:serviceaccount:" + namespace + ":" + name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace},
	}
}

// writeTokens gives every user a new token and writes the API server's file of
// them.
func writeTokens(file string, users []User) (tokens map[string]string, err error) {
	tokens = map[string]string{}
	var lines strings.Builder
	w := csv.NewWriter(&lines)
	for _, u := range users {
		if _, ok := tokens[u.Name]; ok || u.Name == "" {
			return nil, fmt.Errorf("give user %q a token: expected names that are not empty and differ", u.Name)
		}
		tokens[u.Name] = rand.Text()
		if err := w.Write([]string{tokens[u.Name], u.Name, u.Name, strings.Join(u.Groups, ",")}); err != nil {
			return nil, fmt.Errorf("give user %q a token: %w", u.Name, err)
		}
	}
	w.Flush()
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		return nil, fmt.Errorf("write the file of tokens: %w", err)
	}
	return tokens, nil
}

// writeKubeconfig writes a kubeconfig file with one context.
func writeKubeconfig(file, url, user, token string, ca []byte) error {
	config := api.NewConfig()
	config.Clusters["test"] = &api.Cluster{Server: url, CertificateAuthorityData: ca}
	config.AuthInfos[user] = &api.AuthInfo{Token: token}
	config.Contexts["test"] = &api.Context{Cluster: "test", AuthInfo: user}
	config.CurrentContext = "test"
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("write the kubeconfig of %q: %w", user, err)
	}
	return nil
}

// clientConfig is for a user's clients. They are not throttled: the server's
// priority and fairness is.
func clientConfig(url, token string, ca []byte) *rest.Config {
	return &rest.Config{Host: url, BearerToken: token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

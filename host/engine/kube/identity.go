package kube

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// systemSpace is the namespace that every cluster has from its beginning to its end,
// so that its uid says which cluster it is, by whatever address and user.
const systemSpace = "kube-system"

// Identity asks which cluster it is. Two that answer the same are one; "" is no
// answer.
func (c *Cluster) Identity(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var list v1.NamespaceList
	if err := c.client.list(ctx, "namespaces", metav1.ListOptions{FieldSelector: "metadata.name=" + systemSpace}, &list); err != nil {
		return "", failed(fmt.Sprintf("ask cluster %q which one it is", c.name), err)
	}
	for i := range list.Items {
		if list.Items[i].Name == systemSpace {
			return string(list.Items[i].UID), nil
		}
	}
	return "", nil
}

package api

import (
	"context"
	"net/http"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
)

func (s *server) clusterRoutes() {
	type clusters struct {
		Clusters []client.Cluster `json:"clusters"`
	}
	handle(s, http.MethodGet, "/v1/clusters", "list-clusters", "List clusters by name", func(ctx context.Context, _ *struct{}) (*body[clusters], error) {
		list, err := s.backend.Clusters(ctx)
		if callOf(ctx).May(access.ChangeFleet) != nil {
			for i := range list {
				list[i].Follow = "" // a place on the daemon's disk
				if k := list[i].Kubernetes; k != nil {
					list[i].Kubernetes = &client.KubernetesState{State: k.State}
				}
			}
		}
		return answer(clusters{list}, err)
	})
	type joining struct {
		Body struct {
			Name   string                     `json:"name"`
			Nodes  []written[client.NodeSpec] `json:"nodes,omitempty"`
			Follow string                     `json:"follow,omitempty" doc:"Inventory on the daemon's machine that the nodes are kept equal to, in place of nodes"`

			Kubernetes *client.Kubernetes `json:"kubernetes,omitempty" doc:"A cluster of Kubernetes, in place of nodes"`
		}
	}
	handle(s, http.MethodPost, "/v1/clusters", "join-cluster", "Join nodes together, all or none", func(ctx context.Context, in *joining) (*body[client.Cluster], error) {
		b := &in.Body
		switch {
		case b.Name == "":
			return nil, invalid("name: missing, expected the name of the cluster")
		case b.Kubernetes != nil && (len(b.Nodes) > 0 || b.Follow != ""):
			return nil, invalid("kubernetes: beside nodes or follow, expected one of them")
		case b.Kubernetes != nil:
			return answer(s.backend.JoinKubernetes(ctx, b.Name, *b.Kubernetes))
		case (len(b.Nodes) == 0) == (b.Follow == ""):
			return nil, invalid("nodes: %d beside follow %q, expected one of them", len(b.Nodes), b.Follow)
		}
		list, err := nodeSpecs("nodes", b.Nodes)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if c := list[i].Cluster; c != "" && c != b.Name {
				return nil, invalid("nodes[%d].cluster: %q, expected %q or none", i, c, b.Name)
			}
			list[i].Cluster = b.Name
		}
		return answer(s.backend.JoinCluster(ctx, b.Name, list, b.Follow))
	}, asWritten, answers(http.StatusCreated))
	type clusterPath struct {
		Cluster string `path:"cluster"`
	}
	handle(s, http.MethodDelete, "/v1/clusters/{cluster}", "leave-cluster", "Let all nodes of a cluster leave", func(ctx context.Context, in *clusterPath) (*struct{}, error) {
		return nil, s.backend.LeaveCluster(ctx, in.Cluster)
	}, answers(http.StatusNoContent))
}

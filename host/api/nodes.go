package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

type nodePath struct {
	Node string `path:"node"`
}

// taggedNode is a node with its version as the entity tag.
type taggedNode struct {
	ETag string `header:"ETag" doc:"The version, for If-Match of an update"`
	Body client.Node
}

func tagged(n client.Node, err error) (*taggedNode, error) {
	return &taggedNode{ETag: strconv.Quote(strconv.FormatUint(n.Version, 10)), Body: n}, err
}

func (s *server) nodeRoutes() {
	type filter struct {
		Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many"`
		After   string `query:"after" doc:"The field next of the page before"`
		Cluster string `query:"cluster"`
		Class   string `query:"class"`
		State   string `query:"state" enum:"ready,drained,not-ready"`
	}
	handle(s, http.MethodGet, "/v1/nodes", "list-nodes", "List nodes by name", func(ctx context.Context, in *filter) (*body[client.NodePage], error) {
		return answer(s.backend.Nodes(ctx, client.NodeFilter{Cluster: in.Cluster, Class: in.Class, State: in.State, Limit: in.Limit, After: in.After}))
	})
	handle(s, http.MethodGet, "/v1/nodes/{node}", "get-node", "Get a node", func(ctx context.Context, in *nodePath) (*taggedNode, error) {
		return tagged(s.backend.Node(ctx, in.Node))
	})
	type joining struct{ Body written[client.NodeSpec] }
	handle(s, http.MethodPost, "/v1/nodes", "join-node", "Join a node", func(ctx context.Context, in *joining) (*taggedNode, error) {
		list, err := nodeSpecs("", []written[client.NodeSpec]{in.Body})
		if err != nil {
			return nil, err
		}
		return tagged(s.backend.JoinNode(ctx, list[0]))
	}, asWritten, answers(http.StatusCreated))
	s.updateRoutes()
	handle(s, http.MethodDelete, "/v1/nodes/{node}", "leave-node", "Let a node leave", func(ctx context.Context, in *nodePath) (*struct{}, error) {
		return nil, s.backend.LeaveNode(ctx, in.Node)
	}, answers(http.StatusNoContent))
	for _, drained := range []bool{true, false} {
		verb, summary := "drain", "Give a node no new jobs"
		if !drained {
			verb, summary = "undrain", "Give a node new jobs again"
		}
		handle(s, http.MethodPost, "/v1/nodes/{node}/"+verb, verb+"-node", summary, func(ctx context.Context, in *nodePath) (*taggedNode, error) {
			return tagged(s.backend.DrainNode(ctx, in.Node, drained))
		})
	}
	type beat struct {
		Node string `path:"node"`
		Body struct {
			Incarnation uint64 `json:"incarnation"`
		}
	}
	handle(s, http.MethodPost, "/v1/nodes/{node}/heartbeat", "node-heartbeat", "Say that a node is there", func(ctx context.Context, in *beat) (*taggedNode, error) {
		return tagged(s.backend.Heartbeat(ctx, in.Node, in.Body.Incarnation))
	})
}

func (s *server) updateRoutes() {
	type update struct {
		Node    string `path:"node"`
		IfMatch string `header:"If-Match" doc:"The ETag of the node that the update is of"`
		Body    written[client.NodeSpec]
	}
	handle(s, http.MethodPut, "/v1/nodes/{node}", "update-node", "Let a node describe itself anew", func(ctx context.Context, in *update) (*taggedNode, error) {
		if in.IfMatch == "" {
			return nil, newProblem(http.StatusPreconditionRequired, poise.Invalid, "If-Match: missing, expected the ETag of the node that the update is of")
		}
		version, err := strconv.ParseUint(strings.Trim(in.IfMatch, `"`), 10, 64)
		if err != nil {
			return nil, invalid("If-Match: %q, expected the ETag of a node", in.IfMatch)
		}
		list, err := nodeSpecs("", []written[client.NodeSpec]{in.Body})
		if err != nil {
			return nil, err
		}
		if list[0].Name != in.Node {
			return nil, invalid("node: %q, expected the %q of the path", list[0].Name, in.Node)
		}
		return tagged(s.backend.UpdateNode(ctx, in.Node, list[0], version))
	}, asWritten)
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// peerGuest is a guest of kube-scheduler-wasm-extension and the least host that
// its policy nodenumber runs on: what the guest asks for is at hand as bytes, and
// nothing is logged or recorded. The peer's own host does more for each call.
type peerGuest struct {
	runtime   wazero.Runtime
	functions map[string]api.Function
	stack     []uint64
	pod       []byte // protocol buffer
	node      string // of the call
}

// newPeerGuest instantiates a guest. Its main registers the policy and returns.
func newPeerGuest(bin []byte) (*peerGuest, error) {
	ctx := context.Background()
	g := &peerGuest{
		runtime:   wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler()),
		functions: map[string]api.Function{}, stack: make([]uint64, 1),
	}
	if err := g.start(ctx, bin); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *peerGuest) start(ctx context.Context, bin []byte) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, g.runtime); err != nil {
		return err
	}
	if err := g.hostModules(ctx); err != nil {
		return err
	}
	module, err := g.runtime.InstantiateWithConfig(ctx, bin, wazero.NewModuleConfig().WithName("guest"))
	if err != nil {
		return err
	}
	for _, name := range []string{"prefilter", "prescore", "score"} {
		if g.functions[name] = module.ExportedFunction(name); g.functions[name] == nil {
			return fmt.Errorf("guest: no export %s, expected a function", name)
		}
	}
	return nil
}

// hostModules are the functions that the guest imports, by module.
func (g *peerGuest) hostModules(ctx context.Context) error {
	const quiet = 3 // severity fatal: the guest composes no log lines
	number := api.ValueTypeI32
	text := func(value func() []byte) api.GoModuleFunc {
		return func(_ context.Context, m api.Module, stack []uint64) {
			stack[0] = uint64(give(m, value(), uint32(stack[0]), uint32(stack[1])))
		}
	}
	nothing := api.GoModuleFunc(func(context.Context, api.Module, []uint64) {})
	nodeOf := api.GoModuleFunc(func(_ context.Context, m api.Module, stack []uint64) {
		name, _ := m.Memory().Read(uint32(stack[0]), uint32(stack[1]))
		stack[0] = uint64(give(m, object(string(name), ""), uint32(stack[2]), uint32(stack[3])))
	})
	severity := api.GoModuleFunc(func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = quiet })
	type function struct {
		name            string
		params, results int
		call            api.GoModuleFunc
	}
	pod := func() []byte { return g.pod }
	for module, functions := range map[string][]function{
		"k8s.io/api":  {{"node", 4, 1, nodeOf}},
		"k8s.io/klog": {{"log", 3, 0, nothing}, {"logs", 5, 0, nothing}, {"severity", 0, 1, severity}},
		"k8s.io/scheduler": {
			{"get_config", 2, 1, text(func() []byte { return nil })},
			{"handle.eventrecorder.eventf", 2, 0, nothing},
			{"currentNodeName", 2, 1, text(func() []byte { return []byte(g.node) })},
			{"currentPod", 2, 1, text(pod)},
			{"targetPod", 2, 1, text(pod)},
			{"result.cluster_events", 2, 0, nothing},
			{"filteredNodeList", 2, 1, text(func() []byte { return []byte("[]") })},
		},
	} {
		builder := g.runtime.NewHostModuleBuilder(module)
		for _, f := range functions {
			params, results := make([]api.ValueType, f.params), make([]api.ValueType, f.results)
			for i := range params {
				params[i] = number
			}
			for i := range results {
				results[i] = number
			}
			builder.NewFunctionBuilder().WithGoModuleFunction(f.call, params, results).Export(f.name)
		}
		if _, err := builder.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// give writes a value where the guest has room for it and gives its length, so
// that the guest can ask again with more room.
func give(m api.Module, value []byte, at, room uint32) int {
	if len(value) > 0 && len(value) <= int(room) {
		m.Memory().Write(at, value)
	}
	return len(value)
}

// object is a Pod or Node with a name, and a namespace if it has one, in the
// encoding of protocol buffers: field 1 is the metadata, of which 1 is the name,
// 3 the namespace and 5 the UID.
func object(name, namespace string) []byte {
	field := func(b []byte, number byte, value []byte) []byte {
		const delimited = 2
		return append(append(b, number<<3|delimited, byte(len(value))), value...)
	}
	metadata := field(nil, 1, []byte(name))
	if namespace != "" {
		metadata = field(metadata, 3, []byte(namespace))
	}
	metadata = field(metadata, 5, []byte("uid-"+name))
	return field(nil, 1, metadata)
}

// begin begins a scheduling cycle for a pod.
func (g *peerGuest) begin(pod string) error {
	g.pod = object(pod, "default")
	if _, err := g.call("prefilter"); err != nil {
		return err
	}
	status, err := g.call("prescore")
	if err == nil && uint32(status) != 0 {
		err = fmt.Errorf("prescore: status %d, expected 0", uint32(status))
	}
	return err
}

var errPeerStatus = errors.New("score: status other than 0, expected 0")

// score asks for one node. The result holds the score above the status.
func (g *peerGuest) score(node string) (int32, error) {
	g.node = node
	result, err := g.call("score")
	if err == nil && uint32(result) != 0 {
		err = errPeerStatus
	}
	return int32(result >> 32), err
}

func (g *peerGuest) call(export string) (uint64, error) {
	err := g.functions[export].CallWithStack(context.Background(), g.stack)
	return g.stack[0], err
}

func (g *peerGuest) close() { _ = g.runtime.Close(context.Background()) }

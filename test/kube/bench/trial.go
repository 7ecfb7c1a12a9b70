package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/poise-sched/poise/test/kube/cluster"
)

// workers is how many requests are under way at once when things are made.
const workers = 32

// trial is one plane with its nodes and pods.
type trial struct {
	dir   string
	plane *cluster.Plane
	api   *kubernetes.Clientset
	pods  []*v1.Pod // that were made first
	nodes int

	mu    sync.Mutex
	made  map[string]time.Time // by name, when its creation was asked for
	bound map[string]time.Time
	more  chan struct{}

	daemon *exec.Cmd
}

// measure has one contender bind the pods, all at once and then at a steady rate.
func measure(ctx context.Context, s settings, c contender) (r result, err error) {
	dir, err := os.MkdirTemp("", "bench-kube")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	plane, err := cluster.Start(ctx, cluster.Config{Dir: dir})
	if err != nil {
		return r, err
	}
	defer plane.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &trial{dir: dir, plane: plane, nodes: s.nodes, made: map[string]time.Time{}, bound: map[string]time.Time{}, more: make(chan struct{}, 1)}
	if t.api, err = kubernetes.NewForConfig(plane.Client(cluster.Admin)); err != nil {
		return r, err
	}
	if err := t.makeNodes(ctx); err != nil {
		return r, err
	}
	if err := t.makePods(ctx, s.pods, c); err != nil {
		return r, err
	}
	if err := t.watch(ctx); err != nil {
		return r, err
	}
	before, err := plane.CPU()
	if err != nil {
		return r, err
	}
	defer t.stop()
	if err := c.begin(t, ctx); err != nil {
		return r, err
	}
	first, last, err := t.wait(ctx, s.pods)
	if err != nil {
		return r, err
	}
	after, err := plane.CPU()
	if err != nil {
		return r, err
	}
	per := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(s.pods) }
	r = result{
		rate: float64(s.pods) / last.Sub(first).Seconds(), api: per(after["kube-apiserver"] - before["kube-apiserver"]),
		etcd: per(after["etcd"] - before["etcd"]), scheduler: per(after["kube-scheduler"]),
	}
	if t.daemon != nil {
		used, err := cpuOf(t.daemon.Process.Pid)
		if err != nil {
			return r, err
		}
		r.scheduler = per(used)
	}
	if s.rate > 0 && c.scheduler != "nobody" {
		time.Sleep(settleFor)
		r.p99, err = t.steady(ctx, s.rate, c)
	}
	return r, err
}

// parallel calls f for each of n, workers at once.
func parallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i := range n {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}

func (t *trial) makeNodes(ctx context.Context) error {
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse("32"), v1.ResourceMemory: resource.MustParse("256Gi"), v1.ResourcePods: resource.MustParse("110")}
	return parallel(ctx, t.nodes, func(ctx context.Context, i int) error {
		_, err := t.api.CoreV1().Nodes().Create(ctx, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: labelsOf(i)},
			Status:     v1.NodeStatus{Capacity: amounts, Allocatable: amounts, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
		}, metav1.CreateOptions{})
		return err
	})
}

func (t *trial) makePods(ctx context.Context, n int, c contender) error {
	t.pods = make([]*v1.Pod, n)
	return parallel(ctx, n, func(ctx context.Context, i int) (err error) {
		t.pods[i], err = t.api.CoreV1().Pods("default").Create(ctx, pod(fmt.Sprintf("pod-%d", i), c.scheduler, i, c.shapes), metav1.CreateOptions{})
		return err
	})
}

// watch notes when each pod is bound, as somebody who has nothing to do with it.
func (t *trial) watch(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(t.api, 0)
	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { t.saw(o.(*v1.Pod)) }, UpdateFunc: func(_, o any) { t.saw(o.(*v1.Pod)) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced) {
		return ctx.Err()
	}
	return nil
}

func (t *trial) saw(p *v1.Pod) {
	if p.Spec.NodeName == "" {
		return
	}
	t.mu.Lock()
	if _, known := t.bound[p.Name]; !known {
		t.bound[p.Name] = time.Now()
	}
	t.mu.Unlock()
	select {
	case t.more <- struct{}{}:
	default:
	}
}

// stuck is how long no pod is bound before the measurement is given up.
const stuck = 2 * time.Minute

// wait gives when the first and the last of so many pods were bound.
func (t *trial) wait(ctx context.Context, n int) (first, last time.Time, err error) {
	for {
		t.mu.Lock()
		have := len(t.bound)
		if have >= n {
			for _, at := range t.bound {
				if first.IsZero() || at.Before(first) {
					first = at
				}
				if at.After(last) {
					last = at
				}
			}
		}
		t.mu.Unlock()
		if have >= n {
			return first, last, nil
		}
		select {
		case <-t.more:
		case <-ctx.Done():
			return first, last, ctx.Err()
		case <-time.After(stuck):
			return first, last, fmt.Errorf("%d of %d pods are bound, and no more for %s", have, n, stuck)
		}
	}
}

// steadyFor is how long pods are made at a steady rate.
const steadyFor = 10 * time.Second

// steady makes pods at a rate and gives how many ms 99 of 100 are bound within.
func (t *trial) steady(ctx context.Context, rate int, c contender) (float64, error) {
	n := rate * int(steadyFor/time.Second)
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	g, gctx := errgroup.WithContext(ctx)
	for i := range n {
		<-tick.C
		name := fmt.Sprintf("steady-%d", i)
		t.mu.Lock()
		t.made[name] = time.Now()
		t.mu.Unlock()
		g.Go(func() error {
			_, err := t.api.CoreV1().Pods("default").Create(gctx, pod(name, c.scheduler, i, c.shapes), metav1.CreateOptions{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	if _, _, err := t.wait(ctx, len(t.pods)+n); err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var took []float64
	for name, at := range t.made {
		took = append(took, t.bound[name].Sub(at).Seconds()*1000)
	}
	slices.Sort(took)
	return took[len(took)*99/100], nil
}

// bindAll is the ceiling: it posts a binding per pod, and decides nothing.
func (t *trial) bindAll(ctx context.Context) error {
	return parallel(ctx, len(t.pods), func(ctx context.Context, i int) error {
		p := t.pods[i]
		return t.api.CoreV1().Pods(p.Namespace).Bind(ctx, &v1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID},
			Target:     v1.ObjectReference{Kind: "Node", Name: nodeName(i % t.nodes)},
		}, metav1.CreateOptions{})
	})
}

func (t *trial) kubeScheduler(ctx context.Context) error { return t.plane.StartScheduler(ctx) }

// poise starts a daemon that joins the cluster, with a policy for the tenant of the
// pods where there is one.
func (t *trial) poise(ctx context.Context, plugin string) error {
	bin := filepath.Join(t.dir, "poise")
	if out, err := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join("..", ".."), "-trimpath", "-o", bin, "./cmd/poise").CombinedOutput(); err != nil {
		return fmt.Errorf("build poise: %w: %s", err, out)
	}
	data := filepath.Join(t.dir, "data")
	t.daemon = exec.CommandContext(ctx, bin, "serve", "--data-dir", data, "--engine.kind", "sim", "--api.listen", "127.0.0.1:0", "--log.level", "warn")
	t.daemon.Stderr = os.Stderr
	if err := t.daemon.Start(); err != nil {
		return err
	}
	ask := func(args ...string) error {
		cmd := exec.CommandContext(ctx, bin, args...)
		cmd.Env = append(os.Environ(), "POISE_DATA_DIR="+data)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("poise %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	var err error
	for range 100 {
		if err = ask("cluster", "list"); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if plugin != "" {
		err = errors.Join(err, ask("plugin", "push", plugin), ask("plugin", "activate", strings.TrimSuffix(filepath.Base(plugin), ".wasm")))
	}
	return errors.Join(err, ask("cluster", "join", "bench", "--kubeconfig", t.plane.Kubeconfig(cluster.Admin)))
}

// stop ends the daemon before its folder goes.
func (t *trial) stop() {
	if t.daemon != nil && t.daemon.Process != nil {
		_ = t.daemon.Process.Kill() // it may have ended
		_ = t.daemon.Wait()
	}
}

// cpuOf reads the processor time that a process has used, to the hundredth of a
// second.
func cpuOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * (time.Second / 100), errors.Join(err1, err2)
}

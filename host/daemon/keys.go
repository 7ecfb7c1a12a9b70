package daemon

import (
	"sync"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// keys are the idempotency keys that are not durable yet, and those that were
// not when somebody began to look for them in the store: between that look and
// the loop, no key gets lost.
type keys struct {
	mu    sync.Mutex
	known map[string]*keyed
}

// keyed is a submission under an idempotency key.
type keyed struct {
	hash    []byte
	rows    []store.JobRow // nil: nobody has submitted under it yet
	landed  bool
	holders int
}

func newKeys() *keys { return &keys{known: map[string]*keyed{}} }

// hold keeps what becomes of a key until release.
func (k *keys) hold(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known[name] == nil {
		k.known[name] = &keyed{}
	}
	k.known[name].holders++
}

func (k *keys) release(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[name].holders--
	k.sweep(name)
}

// sweep forgets what the store knows, or nobody does.
func (k *keys) sweep(name string) {
	if e := k.known[name]; e.holders == 0 && (e.landed || e.rows == nil) {
		delete(k.known, name)
	}
}

// get gives what was submitted under a key.
func (k *keys) get(name string) (hash []byte, rows []store.JobRow) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.known[name]; e != nil {
		return e.hash, e.rows
	}
	return nil, nil
}

// put says what was submitted under a key that has nothing yet.
func (k *keys) put(name string, hash []byte, rows []store.JobRow) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known[name] == nil { // its holder has given up waiting
		k.known[name] = &keyed{}
	}
	k.known[name].hash, k.known[name].rows = hash, rows
}

// land says that a key is durable.
func (k *keys) land(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[name].landed = true
	k.sweep(name)
}

func keyOf(tenant poise.TenantID, key string) string { return string(tenant) + "\x00" + key }

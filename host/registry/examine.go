package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/abi/conformance"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/registry/minisign"
)

// conformTime is the CPU time of the conformance kit. It takes 3 s of stock Go,
// and what spins to its budget in every call is not worth more.
const conformTime = 60 * time.Second

// The outcomes of a check that a push goes on with.
const (
	Pass = string(conformance.Pass)
	Warn = string(conformance.Warn)
)

// Conform runs the conformance kit on a module in a child process, under the
// limits and at the size of a fleet. A check that fails is an Invalid error that
// names all that do.
func Conform(ctx context.Context, child []string, bin []byte, limits policy.Limits, params map[string]string, fleet int) (conformance.Report, error) {
	arg, err := json.Marshal(conformance.Order{Limits: limits, Time: conformTime, Params: params, Fleet: fleet})
	if err != nil {
		return nil, err
	}
	process := limits
	process.Compile = conformTime
	text, fault := policy.Confined(ctx, child, string(arg), bin, process)
	if fault != nil {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "check that it keeps the contract", Detail: fault.Detail, Err: fault.Err}
	}
	var a conformance.Answer
	answer := json.NewDecoder(bytes.NewReader(text))
	answer.DisallowUnknownFields()
	if err := answer.Decode(&a); err != nil {
		return nil, fmt.Errorf("answer of the child that checks the contract: %w", err)
	}
	if a.Error != "" {
		return nil, &poise.Error{Kind: poise.Invalid, Op: "check that it keeps the contract", Detail: a.Error}
	}
	var failed []string
	for _, c := range a.Report {
		if c.Outcome == conformance.Fail {
			failed = append(failed, c.Name+": "+c.Detail)
		}
	}
	if len(failed) > 0 {
		const most = 3
		detail := strings.Join(failed[:min(len(failed), most)], "; ")
		if n := len(failed) - most; n > 0 {
			detail += fmt.Sprintf("; and %d more", n)
		}
		return a.Report, &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("%d of %d checks failed", len(failed), len(a.Report)), Detail: detail + "; poise plugin check shows all of them"}
	}
	return a.Report, nil
}

// TrialParams gives parameters to try a plugin with: those given, and for each
// other one that has no default a value that it takes.
func TrialParams(m *abi.Manifest, given map[string]string) map[string]string {
	all := map[string]string{}
	for name, value := range given {
		all[name] = value
	}
	for i := range m.Params {
		p := &m.Params[i]
		if _, ok := all[p.Name]; ok || p.Default != nil {
			continue
		}
		switch {
		case p.Type == abi.ParamEnum:
			all[p.Name] = p.Values[0]
		case p.Type == abi.ParamBool:
			all[p.Name] = "false"
		case p.Type == abi.ParamSymbol:
			all[p.Name] = "trial"
		case p.Min != nil && p.Type == abi.ParamF64:
			all[p.Name] = strconv.FormatFloat(*p.Min, 'g', -1, 64)
		case p.Min != nil:
			all[p.Name] = strconv.FormatFloat(math.Ceil(*p.Min), 'f', -1, 64)
		case p.Max != nil:
			all[p.Name] = strconv.FormatFloat(math.Floor(*p.Max), 'f', -1, 64)
		default:
			all[p.Name] = "1"
		}
	}
	return all
}

// KeyOf gives the id of the key that a signature says it is by.
func KeyOf(signature []byte) (string, error) {
	s, err := minisign.ParseSignature(signature)
	return s.KeyID, err
}

// maxKeys bounds the public keys of a tenant: each is tried at a push.
const maxKeys = 16

// Keys gives public keys of the minisign tool as they are kept: sorted, each once.
func Keys(texts []string) ([]string, error) {
	if len(texts) > maxKeys {
		return nil, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("keys: %d, expected at most %d", len(texts), maxKeys)}
	}
	keys := []string{}
	for i, text := range texts {
		k, err := minisign.ParsePublicKey([]byte(text))
		if err != nil {
			return nil, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("key %d", i+1), Err: err}
		}
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// CheckSignature refuses a module that none of the keys has signed.
func CheckSignature(bin, signature []byte, keys []string) error {
	public := make([]minisign.PublicKey, len(keys))
	for i, text := range keys {
		var err error
		if public[i], err = minisign.ParsePublicKey([]byte(text)); err != nil {
			return err
		}
	}
	if len(signature) == 0 {
		return &poise.Error{Kind: poise.Denied, Op: "check signature", Detail: fmt.Sprintf("signature: none, expected one by one of the tenant's %d keys", len(keys))}
	}
	_, err := minisign.Verify(bin, signature, public...)
	return err
}

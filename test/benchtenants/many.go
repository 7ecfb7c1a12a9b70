package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/report"
	"github.com/poise-sched/poise/host/store"
)

// many gives what a tenant with a plugin of its own takes while it does nothing,
// and what a decision costs where each is of another tenant.
func (b *bench) many() (figures []report.Figure, err error) {
	name := func(n int) poise.TenantID { return poise.TenantID(fmt.Sprint("t", n)) }
	ready := func(h *host, from, to int) error {
		for n := from; n < to; n++ {
			if err := h.CreateTenant(h.ctx, name(n)); err != nil {
				return err
			}
			if _, err := h.Activate(h.ctx, name(n), client.ActivationSpec{Plugin: fmt.Sprint("bestfit@", n)}, "bench"); err != nil {
				return err
			}
		}
		return nil
	}
	// As if they had been pushed for all, a module for each: a push checks for
	// seconds what is known to be right here.
	before := func(s *store.Store) error {
		for n := range b.tenants {
			bin, err := b.version("bestfit", n)
			if err != nil {
				return err
			}
			v := store.VersionRow{Plugin: "bestfit", Version: fmt.Sprint(n), Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(bin)), Body: []byte("{}")}
			if err := s.PutVersion(context.Background(), v, bin, ""); err != nil {
				return err
			}
		}
		return nil
	}
	err = b.with(before, func(h *host) error {
		if err := ready(h, 0, 1); err != nil { // what all share
			return err
		}
		one, first := left(), resident()
		if err := ready(h, 1, b.tenants); err != nil {
			return err
		}
		all, last := left(), resident()
		others := float64(b.tenants - 1)
		asked := func() error { // each plugin has its columns
			for n := range b.tenants {
				if _, err := h.place(name(n), n); err != nil {
					return err
				}
			}
			return nil
		}
		if err := asked(); err != nil {
			return err
		}
		active, lastActive := left(), resident()
		var ratios []float64
		var single, spread []float64
		for range b.rounds {
			same, err := h.seriesOf(func(int) poise.TenantID { return name(0) })
			if err != nil {
				return err
			}
			mixed, err := h.seriesOf(func(n int) poise.TenantID { return name(n % b.tenants) })
			if err != nil {
				return err
			}
			single, spread = append(single, us(same, 50)), append(spread, us(mixed, 50))
			ratios = append(ratios, us(mixed, 50)/us(same, 50))
		}
		for _, list := range [][]float64{ratios, single, spread} {
			slices.Sort(list)
		}
		figures = []report.Figure{
			{Name: fmt.Sprintf("%d tenants with a plugin each, %d nodes: heap of one", b.tenants, b.nodes), Value: (all.memory - one.memory) / others / 1024, Unit: "KiB"},
			{Name: "  resident memory of one", Value: (last - first) / others / 1024, Unit: "KiB"},
			{Name: "  once it was asked: heap", Value: (active.memory - one.memory) / others / 1024, Unit: "KiB"},
			{Name: "  resident", Value: (lastActive - first) / others / 1024, Unit: "KiB"},
			{Name: "  goroutines of all", Value: all.goroutines - one.goroutines},
			{Name: "submitted to placed, all jobs of one tenant, median", Value: single[len(single)/2], Unit: "us"},
			{Name: "  each of the next tenant", Value: spread[len(spread)/2], Unit: "us"},
			{Name: "  median of the rounds' ratios", Value: ratios[len(ratios)/2], Unit: "x one"},
		}
		return nil
	})
	return figures, err
}

// resident is this process's memory in the machine, in bytes; 0 where there is no
// /proc.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages float64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize())
}

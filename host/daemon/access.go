package daemon

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// Token implements api.Tenancy.
func (d *Daemon) Token(ctx context.Context, id string) (access.Token, error) {
	row, err := d.store.Token(ctx, id)
	if err != nil {
		return access.Token{}, err
	}
	return tokenOf(&row)
}

// TokensOf implements api.Tenancy.
func (d *Daemon) TokensOf(ctx context.Context, tenant poise.TenantID) ([]access.Token, error) {
	rows, err := d.store.Tokens(ctx, string(tenant))
	if err != nil {
		return nil, err
	}
	list := make([]access.Token, len(rows))
	for i := range rows {
		if list[i], err = tokenOf(&rows[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// AddToken implements api.Tenancy.
func (d *Daemon) AddToken(ctx context.Context, t access.Token) error {
	if err := d.store.Stalled(); err != nil {
		return err
	}
	err := d.store.PutToken(ctx, store.TokenRow{
		ID: t.ID, Hash: t.Hash[:], Tenant: string(t.Tenant), Role: string(t.Role), Name: t.Name,
		Created: int64(t.Created), Expires: int64(t.Expires), Revoked: int64(t.Revoked),
	})
	if err != nil {
		return err
	}
	return d.keepTokens(ctx, string(t.Tenant))
}

// EndToken implements api.Tenancy.
func (d *Daemon) EndToken(ctx context.Context, id string) error {
	if err := d.store.Stalled(); err != nil {
		return err
	}
	row, err := d.store.Token(ctx, id)
	if err != nil {
		return err
	}
	if err := d.store.RevokeToken(ctx, id, int64(now())); err != nil {
		return err
	}
	return d.keepTokens(ctx, row.Tenant)
}

func tokenOf(r *store.TokenRow) (access.Token, error) {
	t := access.Token{
		ID: r.ID, Tenant: poise.TenantID(r.Tenant), Role: access.Role(r.Role), Name: r.Name,
		Created: poise.Time(r.Created), Expires: poise.Time(r.Expires), Revoked: poise.Time(r.Revoked),
	}
	if len(r.Hash) != sha256.Size {
		return t, &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("read token %q", r.ID), Detail: fmt.Sprintf("hash: %d bytes, expected %d", len(r.Hash), sha256.Size)}
	}
	copy(t.Hash[:], r.Hash)
	return t, nil
}

// Record implements api.Tenancy. Records become durable with whatever else does.
func (d *Daemon) Record(ctx context.Context, r client.AuditRecord) error {
	if err := d.store.Stalled(); err != nil {
		return err
	}
	return d.store.Append(store.Batch{Audit: []store.AuditRow{{
		At: r.At.UnixMilli(), Who: r.Who, Role: r.Role, Tenant: r.Tenant, Action: r.Action, Object: r.Object, Status: r.Status, Detail: r.Detail,
	}}}).Wait(ctx)
}

// AuditLog implements api.Tenancy.
func (d *Daemon) AuditLog(ctx context.Context, tenant poise.TenantID, f client.AuditFilter) (client.AuditPage, error) {
	q := store.AuditQuery{Tenant: string(tenant), Limit: f.Limit}
	page := client.AuditPage{Records: []client.AuditRecord{}}
	if f.After != "" {
		n, err := strconv.ParseUint(f.After, 10, 63)
		if err != nil || n == 0 {
			return page, badPage(f.After)
		}
		q.Before = n
	}
	rows, err := d.store.Audit(ctx, q)
	for i := range rows {
		r := &rows[i]
		page.Records = append(page.Records, client.AuditRecord{
			At: client.At(poise.Time(r.At)), Who: r.Who, Role: r.Role, Tenant: r.Tenant, Action: r.Action, Object: r.Object, Status: r.Status, Detail: r.Detail,
		})
		page.Next = strconv.FormatUint(r.Seq, 10)
	}
	if len(rows) < f.Limit {
		page.Next = ""
	}
	return page, err
}

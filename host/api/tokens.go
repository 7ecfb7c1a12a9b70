package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"github.com/poise-sched/poise/host/access"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

const (
	// maxTokens bounds the valid tokens of a tenant, and those of none.
	maxTokens = 1000
	// maxLife bounds how long a token that expires is valid.
	maxLife = 10 * 365 * 24 * time.Hour
)

func (s *server) tokenRoutes() {
	type tokens struct {
		Tokens []client.Token `json:"tokens"`
	}
	handle(s, http.MethodGet, "/v1/tokens", "list-tokens", "List tokens without their secrets, the oldest first", func(ctx context.Context, _ *struct{}) (*body[tokens], error) {
		all, err := s.backend.TokensOf(ctx, tenantOf(ctx))
		list := make([]client.Token, len(all))
		for i := range all {
			list[i] = token(&all[i])
		}
		return answer(tokens{list}, err)
	})
	type creation struct{ Body client.TokenSpec }
	handle(s, http.MethodPost, "/v1/tokens", "create-token", "Create a token; its text is in the answer and nowhere else", func(ctx context.Context, in *creation) (*body[client.NewToken], error) {
		t, err := wanted(callOf(ctx).Principal, &in.Body, time.Now())
		if err != nil {
			return nil, err
		}
		about(ctx, t.Tenant, fmt.Sprintf("token of role %s", t.Role))
		if t.Tenant != "" && !known(s.backend, t.Tenant) {
			return nil, noTenant(t.Tenant)
		}
		if err := s.roomFor(ctx, t.Tenant); err != nil {
			return nil, err
		}
		made, err := s.mint(ctx, t)
		about(ctx, t.Tenant, fmt.Sprintf("token %s of role %s", made.ID, t.Role))
		return answer(made, err)
	}, answers(http.StatusCreated))
	type tokenPath struct {
		Token string `path:"token" doc:"Id, without the secret"`
	}
	handle(s, http.MethodDelete, "/v1/tokens/{token}", "revoke-token", "Revoke a token: from the answer on it is refused", func(ctx context.Context, in *tokenPath) (*struct{}, error) {
		caller := callOf(ctx)
		about(ctx, caller.Tenant, "token "+in.Token)
		t, err := s.backend.Token(ctx, in.Token)
		if poise.KindOf(err) == poise.NotFound || err == nil && caller.Tenant != "" && t.Tenant != caller.Tenant {
			return nil, &poise.Error{Kind: poise.NotFound, Op: fmt.Sprintf("token %q", in.Token), Detail: "no such token, expected the id of one"}
		}
		if err != nil {
			return nil, err
		}
		about(ctx, t.Tenant, fmt.Sprintf("token %s of role %s", t.ID, t.Role))
		if err := caller.MayGrant(t.Role, t.Tenant); err != nil {
			return nil, err
		}
		defer s.access.forget() // after the store has it
		return nil, s.backend.EndToken(ctx, t.ID)
	}, answers(http.StatusNoContent))
}

// wanted reads what token a caller asks for, and whether they may.
func wanted(p access.Principal, spec *client.TokenSpec, now time.Time) (access.Token, error) {
	t := access.Token{Tenant: poise.TenantID(spec.Tenant), Role: access.Role(spec.Role), Name: spec.Name}
	if len(spec.Role) > maxEcho {
		t.Role = access.Role(spec.Role[:maxEcho])
	}
	if err := t.Role.Validate(); err != nil {
		return t, err
	}
	if t.Tenant == "" && !t.Role.Global() {
		t.Tenant = p.Tenant
	}
	if t.Tenant != "" {
		if t.Tenant.Validate() != nil {
			return t, invalid("tenant: %.80q, expected the name of one", spec.Tenant)
		}
	}
	if err := p.MayGrant(t.Role, t.Tenant); err != nil {
		return t, err
	}
	if err := access.ValidateName(t.Name); err != nil {
		return t, err
	}
	if spec.ExpiresIn == "" {
		return t, nil
	}
	life, err := time.ParseDuration(spec.ExpiresIn)
	if err != nil || life < time.Second || life > maxLife {
		return t, invalid("expires_in: %.80q, expected a duration such as 720h, from 1s to %v", spec.ExpiresIn, maxLife)
	}
	t.Expires = poise.Time(now.Add(life).UnixMilli())
	return t, nil
}

// roomFor refuses more valid tokens than a tenant may have.
func (s *server) roomFor(ctx context.Context, tenant poise.TenantID) error {
	all, err := s.backend.TokensOf(ctx, tenant)
	if err != nil {
		return err
	}
	valid := 0
	for i := range all {
		if all[i].Tenant == tenant && all[i].Valid(poise.Time(time.Now().UnixMilli())) == nil {
			valid++
		}
	}
	if valid >= maxTokens {
		return &poise.Error{Kind: poise.Limit, Op: fmt.Sprintf("create token of tenant %q", tenant), Detail: fmt.Sprintf("%d are valid, expected fewer: revoke some", valid)}
	}
	return nil
}

// mint makes a token and keeps it.
func (s *server) mint(ctx context.Context, t access.Token) (client.NewToken, error) {
	var random [access.RandomBytes]byte
	_, _ = rand.Read(random[:]) // it never fails: the program ends where it cannot
	text, made := access.Mint(random)
	made.Tenant, made.Role, made.Name, made.Expires = t.Tenant, t.Role, t.Name, t.Expires
	made.Created = poise.Time(time.Now().UnixMilli())
	return client.NewToken{Token: token(&made), Text: text}, s.backend.AddToken(ctx, made)
}

func token(t *access.Token) client.Token {
	return client.Token{
		ID: t.ID, Name: t.Name, Tenant: string(t.Tenant), Role: string(t.Role),
		Created: client.At(t.Created), Expires: client.At(t.Expires), Revoked: client.At(t.Revoked),
	}
}
